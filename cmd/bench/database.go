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

	"go.storefront.example/ent/db"
)

// database is a fresh database that both sides work on: a database of its own on a PostgreSQL
// server, or an SQLite file in a folder of its own.
type database struct {
	url    string
	name   string // for the report
	server *pgx.Conn
	made   string // the database on the server
	folder string
	main   int // the id of PostgreSQL's main process, 0 where it is not on this machine
}

func newDatabase(ctx context.Context, server string) (*database, error) {
	if server == "" {
		folder, err := os.MkdirTemp("", "storefront-bench-")
		if err != nil {
			return nil, err
		}
		return &database{url: "sqlite:" + filepath.Join(folder, "bench.db"), name: "SQLite", folder: folder}, nil
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
	d := &database{server: conn, made: "storefront_bench_" + hex.EncodeToString(id[:8])}
	var version, fsync string
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version'), current_setting('fsync')").Scan(&version, &fsync); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	version, _, _ = strings.Cut(version, " ")
	d.name = fmt.Sprintf("PostgreSQL %s, fsync %s", version, fsync)
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+d.made); err != nil {
		return nil, errors.Join(fmt.Errorf("create a database: %w", err), conn.Close(ctx))
	}
	address.Path = "/" + d.made
	d.url = address.String()
	d.main = clusterOf(int(conn.PgConn().PID()))
	return d, nil
}

// drop removes the database.
func (d *database) drop(ctx context.Context) error {
	if d.server == nil {
		return os.RemoveAll(d.folder)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	// An interrupted statement has closed the connection.
	if d.server.IsClosed() {
		var err error
		if d.server, err = pgx.ConnectConfig(ctx, d.server.Config()); err != nil {
			return fmt.Errorf("drop the database %s: %w", d.made, err)
		}
	}
	_, err := d.server.Exec(ctx, "DROP DATABASE "+d.made+" WITH (FORCE)")
	if err != nil {
		err = fmt.Errorf("drop the database %s: %w", d.made, err)
	}
	return errors.Join(err, d.server.Close(ctx))
}

// cpu is the processor time that the database's own processes used so far. SQLite has none: it
// works in the process that asks.
func (d *database) cpu() (time.Duration, error) {
	if d.server == nil {
		return 0, nil
	}
	return clusterCPU(d.main)
}

// setting is a setting of the server; SQLite has none.
func (d *database) setting(ctx context.Context, name string) (value string, err error) {
	if d.server == nil {
		return "", nil
	}
	err = d.server.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
	return value, err
}

// walPosition is where the write-ahead log of the server has come to, right after a checkpoint, so
// that what is written from there on begins with whole pages. SQLite's is not looked at.
func (d *database) walPosition(ctx context.Context) (position string, err error) {
	if d.server == nil {
		return "", nil
	}
	if _, err := d.server.Exec(ctx, "CHECKPOINT"); err != nil {
		return "", err
	}
	err = d.server.QueryRow(ctx, "SELECT pg_current_wal_lsn()::text").Scan(&position)
	return position, err
}

// walSince is how many bytes the server has logged since a position.
func (d *database) walSince(ctx context.Context, position string) (bytes int64, err error) {
	if d.server == nil {
		return 0, nil
	}
	err = d.server.QueryRow(ctx, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1::text::pg_lsn)::bigint", position).Scan(&bytes)
	return bytes, err
}

// inProcess reports whether the database works in the process that asks it.
func (d *database) inProcess() bool { return d.server == nil }

// fill brings the schema up to date and loads the data.
func (d *database) fill(ctx context.Context, data *dataset) error {
	s, err := db.Open(ctx, db.Config{URL: d.url})
	if err != nil {
		return err
	}
	err = errors.Join(s.Migrate(ctx, func(db.Migration) {}), s.Close())
	if err != nil {
		return err
	}
	return d.load(ctx, data)
}

// load loads the data into a schema that is up to date.
func (d *database) load(ctx context.Context, data *dataset) error {
	if d.server != nil {
		return d.copyIn(ctx, data)
	}
	s, err := db.Open(ctx, db.Config{URL: d.url})
	if err != nil {
		return err
	}
	return errors.Join(insert(ctx, s.Writer(), data), s.Close())
}

// copyIn loads the tables with COPY, and leaves them as a database at rest has them: analysed and
// with their pages marked as visible to all.
func (d *database) copyIn(ctx context.Context, data *dataset) error {
	conn, err := pgx.Connect(ctx, d.url)
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
func insert(ctx context.Context, db *sql.DB, data *dataset) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	for _, t := range data.tables {
		places := strings.TrimSuffix(strings.Repeat("?,", len(t.columns)), ",")
		statement, err := tx.PrepareContext(ctx, "INSERT INTO "+t.name+" ("+strings.Join(t.columns, ", ")+") VALUES ("+places+")")
		if err != nil {
			return fmt.Errorf("load %s: %w", t.name, err)
		}
		for _, row := range t.rows {
			if _, err := statement.ExecContext(ctx, row...); err != nil {
				return fmt.Errorf("load %s: %w", t.name, err)
			}
		}
		if err := statement.Close(); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// left returns what the creation of a customer left behind: the changes of its journal entry and the
// payload of its event.
func (d *database) left(ctx context.Context, customerID uuid.UUID) (changes, payload []byte, err error) {
	s, err := db.Open(ctx, db.Config{URL: d.url})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.Reader().QueryRowContext(ctx, `SELECT changes FROM activity_entries WHERE resource_id = $1`, customerID).Scan(&changes)
	if err != nil {
		return nil, nil, fmt.Errorf("read its journal entry: %w", err)
	}
	// A payload is found by the time of its customer: there is no reference.
	err = s.Reader().QueryRowContext(ctx, `SELECT e.payload FROM events e JOIN customers c ON c.store_id = e.store_id AND c.created_at = e.created_at
WHERE c.id = $1`, customerID).Scan(&payload)
	if err != nil {
		return nil, nil, fmt.Errorf("read its event: %w", err)
	}
	return changes, payload, nil
}
