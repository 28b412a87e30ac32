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
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// database is one of its own on a PostgreSQL server, or an SQLite file in a folder of its own.
type database struct {
	url        string
	title      string // for reports
	sqlite     bool
	server     *pgx.Conn // nil on SQLite, and once it is released
	created    string    // the database on the server
	postmaster int       // the id of PostgreSQL's main process, 0 where it is not on this machine
}

// newDatabase makes a database on a server or, without one, in a folder that its caller removes.
func newDatabase(ctx context.Context, server, folder string) (*database, error) {
	if server == "" {
		own, err := os.MkdirTemp(folder, "database-")
		return &database{url: "sqlite:" + filepath.Join(own, "storefront.db"), title: "SQLite", sqlite: true}, err
	}
	address, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("--database-url is no URL")
	}
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	id := uuid.New()
	d := &database{server: conn, created: "storefront_bench_" + hex.EncodeToString(id[:8])}
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

// drop removes the database.
func (d *database) drop(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if d.server.IsClosed() { // by an interrupted statement
		var err error
		if d.server, err = pgx.ConnectConfig(ctx, d.server.Config()); err != nil {
			return fmt.Errorf("drop the database %s: %w", d.created, err)
		}
	}
	_, err := d.server.Exec(ctx, "DROP DATABASE "+d.created+" WITH (FORCE)")
	return errors.Join(err, d.release(ctx))
}

// release leaves the database to a server that is about to crash and is thrown away as a whole.
func (d *database) release(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	server := d.server
	d.server = nil
	return server.Close(ctx)
}

// cpu is the processor time that the database's own processes have used so far: none on SQLite, which
// works in the process that asks.
func (d *database) cpu() (time.Duration, error) {
	if d.sqlite {
		return 0, nil
	}
	return clusterCPU(d.postmaster)
}

// copyIn loads the tables with COPY, and leaves them as a database at rest has them: analysed and
// with their pages marked as visible to all.
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

// insert loads the tables into SQLite, and leaves them without statistics, as the service does: with
// the samples of ANALYZE, SQLite looks at each bound value and plans every statement anew.
func (s *stage) insert(ctx context.Context, data *dataset) error {
	handle, err := s.open(ctx)
	if err != nil {
		return err
	}
	tx, err := handle.Writer().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
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
	defer func() { _ = statement.Close() }() // the transaction's end would close it too
	for _, row := range t.rows {
		if _, err := statement.ExecContext(ctx, row...); err != nil {
			return err
		}
	}
	return nil
}
