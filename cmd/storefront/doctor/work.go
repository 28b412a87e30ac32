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

	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/store"
)

const (
	// MostLag is how long an event may wait in the outbox before it says that no worker runs: one
	// that does takes it within a second, or while the database is under full load within a few.
	MostLag = time.Minute
	// LongTransaction is how long a transaction may be open before it is worth a word.
	LongTransaction = 15 * time.Minute
)

// Outbox looks at what waits to be delivered, and so at whether a worker runs.
func Outbox(ctx context.Context, s *store.Store) Finding {
	const check = "outbox"
	const remedy = "start `storefront worker`, or see its log for why it does not deliver"
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
			return fail(check, remedy, "%s waiting, the oldest for %v: no worker takes them", plural(waiting, "event"), lag)
		}
	}
	var overdue, leased int
	err = s.Reader().QueryRowContext(ctx, `SELECT count(CASE WHEN due_at < $1 THEN 1 END), count(CASE WHEN lease IS NOT NULL AND due_at >= $2 THEN 1 END)
 FROM deliveries d JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND w.enabled AND d.due_at >= COALESCE(w.epoch_since, d.due_at)`, now.Add(-MostLag), now).Scan(&overdue, &leased)
	if err != nil {
		return broken(check, err)
	}
	if overdue > 0 && leased == 0 {
		return fail(check, remedy, "%d deliveries are due, some for more than %v, and no attempt is under way: no worker makes them", overdue, MostLag)
	}
	return ok(check, "waiting: %s; deliveries overdue: %d%s", plural(waiting, "event"), overdue, listening(ctx, s))
}

// Sweeps looks at whether workers delete what is too old, or wait because the database's clock has
// leapt.
func Sweeps(ctx context.Context, s *store.Store) Finding {
	const check = "sweeps"
	switch err := queue.CheckClock(ctx, s); {
	case errors.Is(err, queue.ErrLeapt):
		return warn(check, "see that the clock of the database's machine is right, and let NTP keep it so; after weeks without a worker there is nothing to do",
			"%v", err)
	case err != nil:
		return broken(check, err)
	}
	return ok(check, "not held")
}

// listening says how many workers wait for events, where that can be seen.
func listening(ctx context.Context, s *store.Store) string {
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
func Transactions(ctx context.Context, s *store.Store, long time.Duration) Finding {
	const check = "transactions"
	rows, err := s.Reader().QueryContext(ctx, `SELECT pid, application_name, COALESCE(state, ''), extract(epoch FROM clock_timestamp() - xact_start)::float8
 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
  AND xact_start < clock_timestamp() - $1::float8 * interval '1 second' ORDER BY xact_start LIMIT 5`, long.Seconds())
	if err != nil {
		return broken(check, err)
	}
	defer func() { _ = rows.Close() }()
	var said, end []string
	for rows.Next() {
		var (
			pid                int
			application, state string
			age                float64
		)
		if err := rows.Scan(&pid, &application, &state, &age); err != nil {
			return broken(check, err)
		}
		open := time.Duration(age * float64(time.Second)).Round(time.Second)
		said = append(said, fmt.Sprintf("process %d (%q, %s) for %v", pid, application, state, open))
		end = append(end, fmt.Sprintf("SELECT pg_terminate_backend(%d);", pid))
	}
	if err := rows.Err(); err != nil {
		return broken(check, err)
	}
	if len(said) > 0 {
		return warn(check, "end what forgot its transaction: "+strings.Join(end, " "),
			"open for long, which keeps old days from being dropped: %s", strings.Join(said, ", "))
	}
	return ok(check, "none open for more than %v", long)
}
