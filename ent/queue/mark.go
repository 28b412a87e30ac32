package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"go.storefront.example/ent/db"
)

const (
	// clockLeap is how far the database's clock may have moved on since the last sweep, made every ten
	// minutes while a worker runs, before that is taken for a leap.
	clockLeap = 7 * 24 * time.Hour
	// clockHold is for how long after a leap nothing is deleted: time to set the clock right.
	clockHold = 24 * time.Hour
	// clockBack is how far it must have gone back to end the hold of a leap that was an error.
	clockBack = time.Hour
)

// ErrLeapt is the error of a Sweep that deletes nothing because the database's clock has leapt.
var ErrLeapt = errors.New("the database's clock moved on by more than a week since the last sweep")

// What is too old goes by one clock, and on one machine that clock may leap: then all that there is
// looks too old. So a sweep marks its time, and one that finds its mark more than clockLeap ago waits
// for clockHold. It cannot distinguish a leap from a long time without a worker, which ends the same way.
//
//	marked ──► a mark of less than a week ago: sweep
//	   ▲  └──► one of more: held for a day, by the same clock ──► sweep
//	   └────── the clock goes back: the hold ends, and nothing was lost
const markClock = `INSERT INTO clock_marks AS m (id, seen_at) VALUES ('journal', $1)
 ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, held_until = CASE
  WHEN m.seen_at < $2 THEN $3
  WHEN m.seen_at > $4 THEN NULL
  ELSE m.held_until END
 RETURNING held_until`

// markClock notes the time of a sweep, and returns ErrLeapt while nothing may be deleted.
func (q *Queue) markClock(ctx context.Context, now time.Time) error {
	var held sql.NullTime
	err := q.db.Writer().QueryRowContext(ctx, markClock, now, now.Add(-clockLeap), now.Add(clockHold), now.Add(clockBack)).Scan(&held)
	if err != nil {
		return fmt.Errorf("mark the clock: %w", err)
	}
	return leapt(held, now)
}

// CheckClock returns ErrLeapt while sweeps delete nothing because the database's clock has leapt. It
// marks nothing.
func CheckClock(ctx context.Context, s *db.DB) error {
	var held sql.NullTime
	err := s.Reader().QueryRowContext(ctx, "SELECT held_until FROM clock_marks WHERE id = 'journal'").Scan(&held)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the clock's mark: %w", err)
	}
	return leapt(held, s.Now())
}

func leapt(held sql.NullTime, now time.Time) error {
	if !held.Valid || !now.Before(held.Time) {
		return nil
	}
	return fmt.Errorf("%w; it shows %s, and nothing is deleted until %s, for it may be wrong: set it right, or wait", ErrLeapt,
		now.UTC().Format(time.RFC3339), held.Time.UTC().Format(time.RFC3339))
}
