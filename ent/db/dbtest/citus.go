package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"entgo.io/ent/dialect"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/shard"
)

// citusVariable has the URLs of a Citus cluster's nodes, separated by spaces, the coordinator's first. Tests then make their
// databases on every node and distribute them by store.
const citusVariable = "STOREFRONT_TEST_CITUS"

// Citus lists the URLs of the nodes, the coordinator's first. It is empty on one PostgreSQL server.
func Citus() []string { return strings.Fields(os.Getenv(citusVariable)) }

// RequireCitus skips a test that needs a Citus cluster.
func RequireCitus(t testing.TB) {
	t.Helper()
	if len(Citus()) < 2 {
		t.Skipf("%s names no coordinator and worker", citusVariable)
	}
}

// OnePostgres skips a test on Citus that is valid only on one PostgreSQL server. reason says why.
func OnePostgres(t testing.TB, reason string) {
	t.Helper()
	if len(Citus()) > 0 {
		t.Skip("not on Citus: " + reason)
	}
}

// IsCitus reports whether Citus distributes the database d of a test.
func IsCitus(d *db.DB) bool { return d.Dialect() == dialect.Postgres && len(Citus()) > 0 }

// nodes are the server of STOREFRONT_TEST_POSTGRES, or the Citus cluster's nodes.
func nodes() []string {
	if citus := Citus(); len(citus) > 0 {
		return citus
	}
	if server := os.Getenv(serverVariable); server != "" {
		return []string{server}
	}
	return nil
}

// pools are this process's connections to nodes, in their order.
var pools = sync.OnceValues(func() ([]*sql.DB, error) {
	var all []*sql.DB
	for _, node := range nodes() {
		cfg, err := pq.NewConfig(node)
		if err != nil {
			return nil, err
		}
		connect, err := pq.NewConnectorConfig(cfg)
		if err != nil {
			return nil, err
		}
		pool := sql.OpenDB(connect)
		pool.SetMaxOpenConns(2)
		all = append(all, pool)
	}
	return all, nil
})

func execOnNodes(ctx context.Context, statements ...string) error {
	all, err := pools()
	if err != nil {
		return err
	}
	failed := make([]error, len(all))
	var running sync.WaitGroup
	for i, pool := range all {
		running.Go(func() {
			for _, statement := range statements {
				if _, err := pool.ExecContext(ctx, statement); err != nil {
					failed[i] = fmt.Errorf("%s: %w", statement, err)
					return
				}
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}

// dropTries are 5 s apart, because Citus may open new connections to the database meanwhile.
const dropTries = 5

// drop begins with the coordinator, because it connects to the data nodes.
func drop(ctx context.Context, name string) error {
	all, err := pools()
	if err != nil {
		return err
	}
	for _, pool := range all {
		for range dropTries {
			if _, err = pool.ExecContext(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); pq.As(err, pqerror.ObjectInUse) == nil {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("drop %s: %w", name, err)
		}
	}
	return nil
}

// AddNodes makes the database at address, empty or migrated, the coordinator's of a Citus cluster: it installs the extension in
// the database of that name on every node, and adds the data nodes.
func AddNodes(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	return addNodes(ctx, strings.TrimPrefix(u.Path, "/"))
}

func addNodes(ctx context.Context, name string) error {
	for i, node := range slices.Backward(nodes()) {
		statements := []string{"CREATE EXTENSION IF NOT EXISTS citus"}
		if i == 0 {
			for j, other := range nodes() {
				u, err := url.Parse(other)
				if err != nil {
					return err
				}
				call := "citus_add_node"
				if j == 0 {
					call = "citus_set_coordinator_host"
				}
				statements = append(statements, fmt.Sprintf("SELECT %s('%s', %s)", call, u.Hostname(), u.Port()))
			}
		}
		address, err := withDatabase(node, name)
		if err != nil {
			return err
		}
		pool, err := sql.Open("postgres", address)
		if err != nil {
			return err
		}
		for _, statement := range statements {
			for range 3 { // each step can be repeated, because Citus may lose a connection to a node on a busy machine
				if _, err = pool.ExecContext(ctx, statement); err == nil {
					break
				}
			}
			if err != nil {
				break
			}
		}
		if err = errors.Join(err, pool.Close()); err != nil {
			return err
		}
	}
	return nil
}

const applyTries = 3

func distribute(ctx context.Context, name, address string) error {
	if err := addNodes(ctx, name); err != nil {
		return err
	}
	d, err := hook.Open(ctx, db.Config{URL: address, MaxConns: 2, Settings: map[string]string{"application_name": "dbtest"}})
	if err != nil {
		return err
	}
	cluster, err := shard.New(d)
	if err == nil {
		// Apply is one transaction, and Citus may lose a connection on a busy machine.
		for range applyTries {
			if _, err = cluster.Apply(ctx, func(string) {}); err == nil {
				break
			}
		}
	}
	return errors.Join(err, d.Close())
}
