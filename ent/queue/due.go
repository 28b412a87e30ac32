package queue

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// dueReach is how much a search of what became due overlaps the one before it, for rows that were
// committed late.
const dueReach = 2 * time.Second

// Waiting is a lane in which something is due.
type Waiting struct {
	Lane
	// Since is when what waits longest there became due; zero when that was not looked up.
	Since time.Time
}

// Due returns the lanes in which something became due since the call before: retries whose time has
// come, leases that ended, what other workers left waiting. At the first call, every fullInterval and
// after the clock was set back it returns every lane in which anything is due, and all is true.
func (q *Queue) Due(ctx context.Context) (lanes []Waiting, all bool, err error) {
	now := q.db.Now()
	since := q.due.at.Add(-dueReach)
	all = q.due.at.IsZero() || !now.Before(q.due.full.Add(fullInterval)) || now.Before(q.due.full)
	statement, args := q.dialect.dueSince, []any{q.db.Moment(), since}
	if all {
		statement, args = q.dialect.due, args[:1]
	}
	at := now
	for row := range db.Rows(ctx, q.db.Reader(), statement, args...) {
		var (
			clock          sql.NullTime
			store, webhook uuid.NullUUID
			retry          sql.NullBool
			since          sql.NullTime
		)
		if err := row.Scan(&clock, &store, &webhook, &retry, &since); err != nil {
			return nil, false, wrap("look for what is due", err)
		}
		if clock.Valid {
			at = clock.Time
		}
		if store.Valid {
			lanes = append(lanes, Waiting{Lane{store.UUID, webhook.UUID, retry.Bool}, since.Time})
		}
	}
	q.due.at = at
	if all {
		q.due.full = now
	}
	return lanes, all, nil
}
