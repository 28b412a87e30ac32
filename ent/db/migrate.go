package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"github.com/pressly/goose/v3"

	"go.storefront.example/ent/migrations"
)

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt *time.Time // nil if not applied
}

// Migrate brings the schema up to date and calls report after each migration that it applied. Several processes may run it at
// once: on PostgreSQL they take turns, and on SQLite the loser of a migration continues with the next. After a kill the next
// call continues. While another transaction has locked a table, Migrate tries again until the context ends, each time only a
// moment, because other statements wait behind it. It leaves a newer schema unchanged.
func (d *DB) Migrate(ctx context.Context, report func(Migration)) error {
	db, err := d.migrator()
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	err = withHint(d.migrate(ctx, db, report))
	if closeErr := db.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("migrate: %w", closeErr)
	}
	return err
}

func (d *DB) migrate(ctx context.Context, db *sql.DB, report func(Migration)) error {
	provider, err := d.provider(db)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if list, err := d.Migrations(ctx); err != nil {
		return err
	} else if pending(list) > 0 {
		if err := d.dialect.checkMigratable(ctx, db); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	applied := int64(0) // the version that this process applied last; 0 for none
	for deadlocks := 0; ; {
		before, err := d.Migrations(ctx)
		if err != nil {
			return err
		}
		for _, m := range before {
			if m.Version == applied {
				report(m)
			}
		}
		result, err := provider.UpByOne(ctx)
		switch {
		case errors.Is(err, goose.ErrNoNextVersion):
			return nil
		case err == nil:
			applied, deadlocks = result.Source.Version, 0
		case pq.As(err, pqerror.LockNotAvailable) != nil:
			applied = 0
			select { // in the pause, statements that waited behind this migration run
			case <-ctx.Done():
				return fmt.Errorf("migrate: %w", ctx.Err())
			case <-time.After(lockPause):
			}
		case pq.As(err, pqerror.TRDeadlockDetected) != nil && deadlocks < maxDeadlocks:
			applied, deadlocks = 0, deadlocks+1 // PostgreSQL ended only this process's transaction, and the other process goes on
		default:
			applied = 0
			after, listErr := d.Migrations(ctx)
			if listErr != nil || pending(after) == pending(before) {
				return fmt.Errorf("migrate: %w", err)
			}
		}
	}
}

const lockPause = 2 * time.Second

// maxDeadlocks is how often a migration may lose a deadlock against servers or workers.
const maxDeadlocks = 20

func (d *DB) provider(pool *sql.DB) (*goose.Provider, error) {
	files, err := migrations.FS(d.dialect.name)
	if err != nil {
		return nil, err
	}
	return d.dialect.provider(pool, files)
}

// Migrations lists the binary's migrations in order. It changes nothing.
func (d *DB) Migrations(ctx context.Context) ([]Migration, error) {
	return d.migrations(ctx, d.reader)
}

func (d *DB) migrations(ctx context.Context, db *sql.DB) ([]Migration, error) {
	files, err := migrations.List(d.dialect.name)
	if err != nil {
		return nil, err
	}
	applied, err := d.applied(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("read the schema's version: %w", err)
	}
	list := make([]Migration, len(files))
	for i, f := range files {
		list[i] = Migration{Version: f.Version, Name: f.Name}
		if at, ok := applied[f.Version]; ok {
			list[i].AppliedAt = &at
		}
	}
	return list, nil
}

// ErrSearchPath means that the tables are in a schema that is not on PostgreSQL's search_path.
var ErrSearchPath = errors.New("the search_path does not lead to the tables")

// Current reports whether every migration of the binary is applied. Newer ones do no harm, because an older binary keeps
// working during an upgrade. It fails with ErrSearchPath if only another schema has migrations.
func (d *DB) Current(ctx context.Context) (bool, error) {
	list, err := d.migrations(ctx, d.prober)
	if err == nil && pending(list) == len(list) {
		err = d.dialect.checkSearchPath(ctx, d.prober)
	}
	return err == nil && pending(list) == 0, err
}

func pending(list []Migration) int {
	n := 0
	for _, m := range list {
		if m.AppliedAt == nil {
			n++
		}
	}
	return n
}

// applied is empty if goose's table of versions does not exist.
func (d *DB) applied(ctx context.Context, db *sql.DB) (map[int64]time.Time, error) {
	var tables int
	if err := db.QueryRowContext(ctx, d.dialect.versions).Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	applied := map[int64]time.Time{}
	for row := range Rows(ctx, db, "SELECT version_id, tstamp FROM "+goose.DefaultTablename+" WHERE is_applied") {
		var version int64
		var at time.Time
		if err := row.Scan(&version, &at); err != nil {
			return nil, err
		}
		applied[version] = at.UTC().Truncate(time.Millisecond)
	}
	return applied, nil
}
