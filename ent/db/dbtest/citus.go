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

// citusVariable names the URLs of the nodes of a Citus cluster, the coordinator's first, with spaces between them. The
// databases of tests are then made there, on every node, and distributed by store.
const citusVariable = "STOREFRONT_TEST_CITUS"

// Citus lists the URLs of the nodes of the Citus cluster on which tests run, the coordinator's first; it is empty where
// they run on one PostgreSQL.
func Citus() []string { return strings.Fields(os.Getenv(citusVariable)) }

// RequireCitus skips a test that needs a Citus cluster.
func RequireCitus(t testing.TB) {
	t.Helper()
	if len(Citus()) < 2 {
		t.Skipf("%s names no coordinator and worker", citusVariable)
	}
}

// OnePostgres skips a test that holds on one PostgreSQL alone, for a reason that it gives.
func OnePostgres(t testing.TB, because string) {
	t.Helper()
	if len(Citus()) > 0 {
		t.Skip("not on Citus: " + because)
	}
}

// Unsorted is how many events without a subscriber are in the outbox: on Citus all, until the relay drops them, because the node that
// stores an event does not have the webhooks; elsewhere none.
func Unsorted(s *db.DB, events int) int {
	if IsCitus(s) {
		return events
	}
	return 0
}

// IsCitus reports whether a test's database is one that Citus distributes.
func IsCitus(s *db.DB) bool { return s.Dialect() == dialect.Postgres && len(Citus()) > 0 }

// nodes are the servers on which tests' databases are made: the one of STOREFRONT_TEST_POSTGRES, or the Citus cluster's.
func nodes() []string {
	if citus := Citus(); len(citus) > 0 {
		return citus
	}
	if server := os.Getenv(serverVariable); server != "" {
		return []string{server}
	}
	return nil
}

// pools hold this process's connections to the nodes themselves, in their order.
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

// everywhere executes statements on all nodes at once.
func everywhere(ctx context.Context, statements ...string) error {
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

// dropTries is how often a database is dropped, 5 s apart: Citus may begin new connections to it meanwhile.
const dropTries = 5

// drop drops a database on all nodes, the coordinator first, from which the others are used.
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

// AddNodes makes an empty database, or a migrated one, the coordinator's of the Citus cluster: it installs the extension in
// the database of the same name on every node, and adds the workers.
func AddNodes(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	return addNodes(ctx, strings.TrimPrefix(u.Path, "/"))
}

// addNodes makes the database of a name on all nodes those of one cluster.
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
			for range 3 { // Citus may lose a connection to a node on a busy machine; each can be repeated
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

// applyTries is how often a template is distributed before the failure counts.
const applyTries = 3

// distribute distributes the migrated template of a name.
func distribute(ctx context.Context, name, address string) error {
	if err := addNodes(ctx, name); err != nil {
		return err
	}
	s, err := hook.Open(ctx, db.Config{URL: address, MaxConns: 2, Settings: map[string]string{"application_name": "dbtest"}})
	if err != nil {
		return err
	}
	cluster, err := shard.New(s)
	if err == nil {
		// On a busy machine Citus may lose a connection to a worker: Apply is one transaction, which can be repeated.
		for range applyTries {
			if _, err = cluster.Apply(ctx, func(string) {}); err == nil {
				break
			}
		}
	}
	return errors.Join(err, s.Close())
}
