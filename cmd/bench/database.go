package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// database is a new database on a PostgreSQL server or on all nodes of a Citus cluster, or a SQLite file in its own folder.
type database struct {
	url        string
	title      string // the database's name in reports
	sqlite     bool
	server     *pgx.Conn // nil on SQLite, and after release
	created    string    // the database's name on the server
	postmaster int       // the id of PostgreSQL's main process; 0 if it is not on this machine
	// workers are the databases of that name on a Citus cluster's worker nodes.
	workers []*database
}

// newDatabase makes a database on server or, if that is "", a SQLite file in folder, which the caller removes. server may have
// the URLs of all nodes of a Citus cluster, separated by spaces, the coordinator's first.
func newDatabase(ctx context.Context, server, folder string) (*database, error) {
	if server == "" {
		dir, err := os.MkdirTemp(folder, "database-")
		return &database{url: "sqlite:" + filepath.Join(dir, "storefront.db"), title: "SQLite", sqlite: true}, err
	}
	id := uuid.New()
	name := "storefront_bench_" + hex.EncodeToString(id[:8])
	servers := strings.Fields(server)
	d, err := createDatabase(ctx, servers[0], name)
	for _, s := range servers[1:] {
		if err != nil {
			break
		}
		var worker *database
		if worker, err = createDatabase(ctx, s, name); err == nil {
			d.workers = append(d.workers, worker)
		}
	}
	if err == nil && len(d.workers) > 0 {
		err = d.join(ctx)
	}
	if err != nil && d != nil {
		err = errors.Join(err, d.drop(ctx))
	}
	return d, err
}

// join makes one Citus cluster of the databases of all nodes.
func (d *database) join(ctx context.Context) error {
	var adds []string
	for _, node := range d.workers {
		if err := execute(ctx, node.url, "CREATE EXTENSION citus"); err != nil {
			return err
		}
		adds = append(adds, "SELECT citus_add_node('"+node.host()+"', "+node.port()+")")
	}
	d.title += fmt.Sprintf(", Citus with %d workers", len(d.workers))
	coordinator := "SELECT citus_set_coordinator_host('" + d.host() + "', " + d.port() + ")"
	return execute(ctx, d.url, append([]string{"CREATE EXTENSION citus", coordinator}, adds...)...)
}

func (d *database) host() string { return d.server.Config().Host }
func (d *database) port() string { return strconv.Itoa(int(d.server.Config().Port)) }

// execute executes statements, each in its own transaction.
func execute(ctx context.Context, address string, statements ...string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err = conn.Exec(ctx, statement); err != nil {
			err = fmt.Errorf("%s: %w", statement, err)
			break
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

func createDatabase(ctx context.Context, server, name string) (*database, error) {
	address, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("--database-url is no URL")
	}
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	d := &database{server: conn, created: name}
	var version, fsync string
	err = conn.QueryRow(ctx, "SELECT current_setting('server_version'), current_setting('fsync')").Scan(&version, &fsync)
	if err == nil {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+d.created)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create a database: %w", err), conn.Close(ctx))
	}
	version, _, _ = strings.Cut(version, " ")
	d.title = fmt.Sprintf("PostgreSQL %s, fsync %s", version, fsync)
	address.Path = "/" + d.created
	d.url = address.String()
	d.postmaster = postmasterOf(int(conn.PgConn().PID()))
	return d, nil
}

// drop begins with the coordinator, which uses the databases on the other nodes.
func (d *database) drop(ctx context.Context) error {
	err := d.dropOne(ctx)
	for _, worker := range d.workers {
		err = errors.Join(err, worker.drop(ctx))
	}
	return err
}

func (d *database) dropOne(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if d.server.IsClosed() { // an interrupted statement has closed the connection
		var err error
		if d.server, err = pgx.ConnectConfig(ctx, d.server.Config()); err != nil {
			return fmt.Errorf("drop the database %s: %w", d.created, err)
		}
	}
	_, err := d.server.Exec(ctx, "DROP DATABASE "+d.created+" WITH (FORCE)")
	return errors.Join(err, d.releaseOne(ctx))
}

// release closes the connections for a caller that crashes and deletes the servers.
func (d *database) release(ctx context.Context) error {
	err := d.releaseOne(ctx)
	for _, worker := range d.workers {
		err = errors.Join(err, worker.release(ctx))
	}
	return err
}

func (d *database) releaseOne(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	server := d.server
	d.server = nil
	return server.Close(ctx)
}

// cpu is the time of the database's own processes, on all nodes and on the coordinator. Both are 0 on SQLite, which runs in the
// service's process.
func (d *database) cpu() (all, coordinator time.Duration, err error) {
	if d.sqlite {
		return 0, 0, nil
	}
	coordinator, err = clusterCPU(d.postmaster)
	all = coordinator
	for _, worker := range d.workers {
		one, _, workerErr := worker.cpu()
		all, err = all+one, errors.Join(err, workerErr)
	}
	return all, coordinator, err
}

// copyIn also runs VACUUM ANALYZE, as autovacuum does in a database in use.
func (s *stage) copyIn(ctx context.Context, data *dataset) error {
	conn, err := pgx.Connect(ctx, s.database.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, t := range data.tables {
		if _, err := conn.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromRows(t.rows)); err != nil {
			return fmt.Errorf("load %s: %w", t.name, err)
		}
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// insert does not run ANALYZE, as the service does not: SQLite would then plan each statement again for each bound value.
func (s *stage) insert(ctx context.Context, data *dataset) error {
	handle, err := s.open(ctx)
	if err != nil {
		return err
	}
	tx, err := handle.Writer().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after the commit
	for _, t := range data.tables {
		if err := t.insert(ctx, tx); err != nil {
			return fmt.Errorf("load %s: %w", t.name, err)
		}
	}
	return tx.Commit()
}

func (t *table) insert(ctx context.Context, tx *sql.Tx) error {
	values := strings.TrimSuffix(strings.Repeat("?,", len(t.columns)), ",")
	statement, err := tx.PrepareContext(ctx, "INSERT INTO "+t.name+" ("+strings.Join(t.columns, ", ")+") VALUES ("+values+")")
	if err != nil {
		return err
	}
	defer func() { _ = statement.Close() }() // the end of the transaction closes the statement too
	for _, row := range t.rows {
		if _, err := statement.ExecContext(ctx, row...); err != nil {
			return err
		}
	}
	return nil
}
