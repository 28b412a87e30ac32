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
	// baselineAge is how old the mark of the last sweep may be; a worker that runs makes one every ten
	// minutes.
	baselineAge = 24 * time.Hour
	// baselineHold is for how long nothing is deleted without such a mark: time to set the clock right.
	baselineHold = 24 * time.Hour
	// baselineBack is how far the clock may go back, as NTP corrects it.
	baselineBack = time.Minute
)

// ErrHeld is the error of a Sweep that deletes nothing because the machine's clock may be wrong.
var ErrHeld = errors.New("nothing is deleted for a day, " +
	"because no sweep in the last day shows that this machine's clock is right")

// One machine has one clock, and if that is wrong all that there is may look too old. So a sweep on SQLite
// marks its time, and one that finds no mark of the last day, or a later one, deletes nothing for a day.
//
//	no mark, or one of another day ──► held for a day by the clock ──► sweep, again and again
//	        ▲                                                             │
//	        └──────────── the clock leaps, or no worker runs for a day ◄──┘
const markBaseline = `INSERT INTO clock_marks AS m (id, seen_at, held_until) VALUES ('journal', $1, $2)
 ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at,
  held_until = CASE WHEN m.seen_at BETWEEN $3 AND $4 THEN m.held_until ELSE excluded.held_until END
 RETURNING held_until`

// takeBaseline notes the time of a sweep, and returns ErrHeld while nothing may be deleted.
func (q *Queue) takeBaseline(ctx context.Context, now time.Time) error {
	var held sql.NullTime
	err := q.db.Writer().QueryRowContext(ctx, markBaseline,
		now, now.Add(baselineHold), now.Add(-baselineAge), now.Add(baselineBack)).Scan(&held)
	if err != nil {
		return fmt.Errorf("mark the clock: %w", err)
	}
	return heldAt(held, now)
}

// CheckHeld returns ErrHeld while sweeps delete nothing. It marks nothing.
func CheckHeld(ctx context.Context, s *db.DB) error {
	var held sql.NullTime
	err := s.Reader().QueryRowContext(ctx, "SELECT held_until FROM clock_marks WHERE id = 'journal'").Scan(&held)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read the clock's mark: %w", err)
	}
	return heldAt(held, s.Now())
}

func heldAt(held sql.NullTime, now time.Time) error {
	if !held.Valid || !now.Before(held.Time) {
		return nil
	}
	return fmt.Errorf("%w; until %s: set it right, or wait", ErrHeld, held.Time.UTC().Format(time.RFC3339))
}
