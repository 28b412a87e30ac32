package db

import (
	"context"
	"fmt"
	"strings"
	"time"

	entdialect "entgo.io/ent/dialect"
	"github.com/pressly/goose/v3/lock"
)

// watchEvery is how often WatchMigration reads the progress: at least twice while a statement waits for a lock in vain
// (migrationLockTimeout).
const watchEvery = 500 * time.Millisecond

// MigrationProgress is the present state of the session that migrates, as PostgreSQL shows it.
type MigrationProgress struct {
	// SQL is the running statement; a long one is cut.
	SQL string
	// Phase is the phase of building an index, such as "building index: scanning table"; empty for other statements, because
	// PostgreSQL does not show their progress.
	Phase string
	// Done is how many of the Total units of the phase are done; Unit is "blocks" or "rows". All are zero for a phase
	// without a count.
	Done, Total int64
	Unit        string
	// Waits are the sessions for which the statement waits: they hold the lock that it needs, or are before it in the queue
	// for the lock.
	Waits []Blocker
}

// Blocker is a session for which the migration waits. PostgreSQL shows its state and query only to the same role and to
// members of pg_read_all_stats.
type Blocker struct {
	PID         int // 0 for a prepared transaction, which has no session
	Application string
	State       string
	Since       time.Time // when its transaction began; zero if PostgreSQL does not show that
	Query       string    // the beginning of its last query
}

// String returns a text by which an operator can find the blocker.
func (b Blocker) String() string {
	if b.PID == 0 {
		return "a prepared transaction (pg_prepared_xacts)"
	}
	text := fmt.Sprintf("process %d", b.PID)
	if b.State == "" {
		return text
	}
	if text += fmt.Sprintf(" (%q, %s", b.Application, b.State); !b.Since.IsZero() {
		text += ", its transaction since " + b.Since.UTC().Format(time.RFC3339)
	}
	return text + "): " + strings.Join(strings.Fields(b.Query), " ")
}

// progressQuery selects the state of the migrating session, which holds goose's lock: one row for each session that blocks it.
const progressQuery = `SELECT a.query, COALESCE(p.phase, ''),
  CASE WHEN p.tuples_total > 0 THEN p.tuples_done ELSE COALESCE(p.blocks_done, 0) END,
  CASE WHEN p.tuples_total > 0 THEN p.tuples_total ELSE COALESCE(p.blocks_total, 0) END, COALESCE(p.tuples_total, 0) > 0,
  b.pid, COALESCE(s.application_name, ''), COALESCE(s.state, ''), s.xact_start, left(s.query, 100)
 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid AND a.state = 'active'
 LEFT JOIN pg_stat_progress_create_index p ON p.pid = a.pid
 LEFT JOIN LATERAL (SELECT DISTINCT unnest(pg_blocking_pids(a.pid)) AS pid WHERE a.wait_event_type = 'Lock') b ON true
 LEFT JOIN pg_stat_activity s ON s.pid = b.pid
 WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND (l.classid::bigint << 32 | l.objid::bigint) = $1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
 ORDER BY s.xact_start`

// WatchMigration reports the progress of the session that migrates this database, in this process or in another, until the
// context ends. On SQLite it reports nothing.
func (d *DB) WatchMigration(ctx context.Context, report func(MigrationProgress)) {
	if d.dialect.name != entdialect.Postgres {
		return
	}
	for {
		// An error is ignored: the migration continues without a report.
		if p, err := d.migrationProgress(ctx); err == nil && p.SQL != "" {
			report(p)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
	}
}

func (d *DB) migrationProgress(ctx context.Context) (p MigrationProgress, err error) {
	for row := range Rows(ctx, d.reader, progressQuery, lock.DefaultLockID) {
		var (
			rows               bool
			pid                *int
			application, state string
			since              *time.Time
			query              *string
		)
		if err := row.Scan(&p.SQL, &p.Phase, &p.Done, &p.Total, &rows, &pid, &application, &state, &since, &query); err != nil {
			return MigrationProgress{}, err
		}
		switch {
		case p.Total == 0:
		case rows:
			p.Unit = "rows"
		default:
			p.Unit = "blocks"
		}
		if pid == nil {
			continue
		}
		b := Blocker{PID: *pid, Application: application, State: state}
		if since != nil {
			b.Since = *since
		}
		if query != nil {
			b.Query = *query
		}
		p.Waits = append(p.Waits, b)
	}
	return p, nil
}
