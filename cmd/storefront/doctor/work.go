package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
)

const (
	// MostLag is how long an event may wait in the outbox before the finding is that no worker runs:
	// a running one takes it within a second, or under full load within a few.
	MostLag = time.Minute
	// LongTransaction is how long a transaction may be open before it is worth a word.
	LongTransaction = 15 * time.Minute
)

// ApplicationName is what the doctor's own connections to PostgreSQL are called, to be told from those
// of the service.
const ApplicationName = "storefront doctor"

// Used reports whether a server serves the SQLite file of the URL; false for PostgreSQL.
func Used(databaseURL string) bool {
	path, embedded := strings.CutPrefix(databaseURL, "sqlite:")
	if !embedded {
		return false
	}
	used, err := db.IsClaimed(path)
	return used && err == nil // what cannot be opened is another check's
}

// Outbox looks at what waits to be delivered, and so at whether a worker runs. On a database that
// nobody is connected to, as right after a restore, nothing is expected to deliver: what waits is a
// warning there. used is what Used answered.
func Outbox(ctx context.Context, s *db.DB, used bool) Finding {
	const check = "outbox"
	const remedy = "start `storefront worker`, or see its log for why it does not deliver"
	stuck := func(format string, args ...any) Finding {
		used, err := connected(ctx, s, used)
		switch {
		case err != nil:
			return broken(check, err)
		case used:
			return fail(check, remedy, format+": no worker takes them", args...)
		}
		return warn(check, "start `storefront worker` when the rest is well",
			format+": nothing runs on this database, and a worker will take them", args...)
	}
	var waiting int
	if err := s.Reader().QueryRowContext(ctx, "SELECT count(*) FROM outbox").Scan(&waiting); err != nil {
		return broken(check, err)
	}
	var oldest uuid.UUID
	err := s.Reader().QueryRowContext(ctx, "SELECT event_id FROM outbox ORDER BY id LIMIT 1").Scan(&oldest)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return broken(check, err)
	}
	now := s.Now()
	if err == nil {
		lag := now.Sub(id.Time(oldest)).Round(time.Second)
		if lag > MostLag {
			return stuck("%s waiting, the oldest for %v", plural(waiting, "event"), lag)
		}
	}
	var overdue, leased int
	err = s.Reader().QueryRowContext(ctx, `SELECT count(CASE WHEN due_at < $1 THEN 1 END), count(CASE WHEN lease IS NOT NULL AND due_at >= $2 THEN 1 END)
 FROM deliveries d JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND w.enabled AND w.epoch = d.epoch`, now.Add(-MostLag), now).Scan(&overdue, &leased)
	if err != nil {
		return broken(check, err)
	}
	if overdue > 0 && leased == 0 {
		return stuck("%d deliveries are due, some for more than %v, and no attempt is under way", overdue, MostLag)
	}
	return ok(check, "waiting: %s; deliveries overdue: %d%s", plural(waiting, "event"), overdue, listening(ctx, s))
}

// Sweeps looks at whether workers delete what is too old, or wait because the machine's clock may be wrong.
func Sweeps(ctx context.Context, s *db.DB) Finding {
	const check = "sweeps"
	switch err := queue.CheckHeld(ctx, s); {
	case errors.Is(err, queue.ErrHeld):
		// As on the first day, and after one without a worker.
		return ok(check, "%v", err)
	case err != nil:
		return broken(check, err)
	}
	return ok(check, "not held")
}

// connected reports whether anybody else uses the database.
func connected(ctx context.Context, s *db.DB, used bool) (bool, error) {
	if s.Dialect() == dialect.SQLite {
		return used, nil
	}
	err := s.Reader().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
 WHERE datname = current_database() AND usesysid IS NOT NULL AND application_name <> $1)`, ApplicationName).Scan(&used)
	return used, err
}

// listening returns how many workers wait for events, if that is visible.
func listening(ctx context.Context, s *db.DB) string {
	if s.Dialect() == dialect.SQLite {
		return ""
	}
	var n int
	err := s.Reader().QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND application_name = 'storefront listener'`).Scan(&n)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; workers listening: %d", n)
}

// Transactions looks for transactions on PostgreSQL that have been open for longer than long: while
// one is, no day of old events can be dropped and no deleted row forgotten.
func Transactions(ctx context.Context, s *db.DB, long time.Duration) Finding {
	const check = "transactions"
	var said, end []string
	for row := range db.Rows(ctx, s.Reader(), `SELECT pid, application_name, COALESCE(state, ''), extract(epoch FROM clock_timestamp() - xact_start)::float8
 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
  AND xact_start < clock_timestamp() - $1::float8 * interval '1 second' ORDER BY xact_start LIMIT 5`, long.Seconds()) {
		var (
			pid                int
			application, state string
			age                float64
		)
		if err := row.Scan(&pid, &application, &state, &age); err != nil {
			return broken(check, err)
		}
		open := time.Duration(age * float64(time.Second)).Round(time.Second)
		said = append(said, fmt.Sprintf("process %d (%q, %s) for %v", pid, application, state, open))
		end = append(end, fmt.Sprintf("SELECT pg_terminate_backend(%d);", pid))
	}
	if len(said) > 0 {
		return warn(check, "end what forgot its transaction: "+strings.Join(end, " "),
			"open for long, which keeps old days from being dropped: %s", strings.Join(said, ", "))
	}
	return ok(check, "none open for more than %v", long)
}
