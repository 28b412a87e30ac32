package db

import (
	"context"
	"time"

	entdialect "entgo.io/ent/dialect"
	"github.com/pressly/goose/v3/lock"
)

// watchEvery lets WatchMigration see a statement that waits in vain at least twice (migrationLockTimeout).
const watchEvery = 500 * time.Millisecond

// MigrationProgress is the statement of the session that migrates, as PostgreSQL shows it.
type MigrationProgress struct {
	SQL     string // a long statement is cut
	Running time.Duration
	// Waits is true while another session has a lock that the statement needs.
	Waits bool
}

// progressQuery selects the statement of the migrating session, which holds goose's lock.
const progressQuery = `SELECT a.query, (extract(epoch FROM clock_timestamp() - a.query_start) * 1000)::bigint, COALESCE(a.wait_event_type = 'Lock', false)
 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid AND a.state = 'active'
 WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND (l.classid::bigint << 32 | l.objid::bigint) = $1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// WatchMigration reports the progress of a migration, in this process or in another, until the context ends. On SQLite it
// reports nothing.
func (d *DB) WatchMigration(ctx context.Context, report func(MigrationProgress)) {
	if d.dialect.name != entdialect.Postgres {
		return
	}
	for {
		var p MigrationProgress
		var running int64
		// The migration continues without a report.
		if d.reader.QueryRowContext(ctx, progressQuery, lock.DefaultLockID).Scan(&p.SQL, &running, &p.Waits) == nil && p.SQL != "" {
			p.Running = time.Duration(running) * time.Millisecond
			report(p)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
	}
}
