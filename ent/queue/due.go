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

// dueInterval is how often a search looks at everything.
const dueInterval = 10 * time.Second

// Due returns the lanes in which something became due since the call before: retries whose time has
// come, leases that ended, what other workers left waiting. At the first call, every dueInterval and
// after the clock was set back it returns every lane in which anything is due, and all is true.
func (q *Queue) Due(ctx context.Context) (lanes []Lane, all bool, err error) {
	now := q.db.Now()
	since := q.due.at.Add(-dueReach)
	all = q.due.at.IsZero() || !now.Before(q.due.full.Add(dueInterval)) || now.Before(q.due.full)
	name, args := "due since", []any{q.db.Moment(), since}
	if all {
		name, args = "due", args[:1]
	}
	at := now
	for row := range db.Rows(ctx, q.db.Reader(), q.dialect.statements[name], args...) {
		var (
			clock          sql.NullTime
			store, webhook uuid.NullUUID
			retry          sql.NullBool
		)
		if err := row.Scan(&clock, &store, &webhook, &retry); err != nil {
			return nil, false, wrap("look for what is due", err)
		}
		if clock.Valid {
			at = clock.Time
		}
		if store.Valid {
			lanes = append(lanes, Lane{store.UUID, webhook.UUID, retry.Bool})
		}
	}
	q.due.at = at
	if all {
		q.due.full = now
	}
	return lanes, all, nil
}
