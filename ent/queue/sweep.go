package queue

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/id"
	"go.storefront.example/ent/usage"
)

// sweepBatch lets other writers wait about as long as for the transaction of a request.
const sweepBatch = 1000

const keyAge = 24 * time.Hour

// Sweep deletes events and finished deliveries older than the retention by the database's clock, except events that unfinished
// deliveries need, and old resends, idempotency keys and rows of package usage. Several processes may run it at once. On SQLite
// it fails with ErrHeld while the machine's clock may be wrong.
func (q *Queue) Sweep(ctx context.Context, retention time.Duration) (rows int64, err error) {
	now, err := q.db.ReadClock(ctx)
	if err != nil {
		return 0, wrap("sweep", err)
	}
	if q.dialect.singleWriter {
		if err := q.takeBaseline(ctx, now); err != nil {
			return 0, wrap("sweep", err)
		}
	}
	needed, err := q.oldestNeeded(ctx)
	if err != nil {
		return 0, wrap("sweep", err)
	}
	oldest := id.Floor(now.Add(-retention))
	// eventsBefore is the lowest id within the retention, or the oldest event that an unfinished delivery needs.
	eventsBefore := oldest
	if needed != uuid.Nil && bytes.Compare(needed[:], oldest[:]) < 0 {
		eventsBefore = needed
	}
	activityBefore := uuid.Nil
	if q.ActivityRetention > 0 {
		activityBefore = id.Floor(now.Add(-q.ActivityRetention))
	}
	for _, table := range []struct {
		name      string
		below     uuid.UUID
		condition string
	}{
		{"events", eventsBefore, ""}, {"finished_deliveries", oldest, ""}, {"resends", oldest, " AND finished_at IS NOT NULL"},
		{"activity_entries", activityBefore, ""}, {"idempotency_keys", id.Floor(now.Add(-keyAge)), ""},
		{"refused_requests", id.Floor(now.Add(-usage.Retention)), ""},
		{"tallies", id.Floor(now.Add(-usage.TallyRetention)), ""},
	} {
		n, err := q.deleteBelow(ctx, table.name, table.condition, table.below)
		rows += n
		if err != nil {
			return rows, wrap("sweep "+table.name, err)
		}
	}
	return rows, nil
}

// oldestNeeded returns the lowest id of the events that an unfinished delivery needs, or the nil id.
func (q *Queue) oldestNeeded(ctx context.Context) (uuid.UUID, error) {
	oldest := uuid.Nil
	queries := []string{shared["oldest needed"]}
	if q.dialect.relays {
		queries = []string{q.dialect.statements["oldest relayed later"], queries[0]} // in the order in which a delivery moves
	}
	for _, query := range queries {
		var found uuid.NullUUID
		err := q.db.Reader().QueryRowContext(ctx, query).Scan(&found)
		if err != nil {
			return uuid.Nil, err
		}
		if found.Valid && (oldest == uuid.Nil || bytes.Compare(found.UUID[:], oldest[:]) < 0) {
			oldest = found.UUID
		}
	}
	return oldest, nil
}

// deleteBelow deletes rows with ids lower than below that meet the SQL in condition. After each batch it waits as long as the
// batch took, for other writers.
func (q *Queue) deleteBelow(ctx context.Context, table, condition string, below uuid.UUID) (rows int64, err error) {
	statement := "DELETE FROM " + table + " WHERE id IN (" +
		"SELECT id FROM " + table + " WHERE id < $1" + condition + " ORDER BY id LIMIT $2)"
	for {
		start := time.Now()
		result, err := q.db.Writer().ExecContext(ctx, statement, below, sweepBatch)
		n := int64(0)
		if err == nil {
			n, err = result.RowsAffected()
		}
		rows += n
		if err != nil || n < sweepBatch {
			return rows, errors.Join(err, ctx.Err())
		}
		select {
		case <-time.After(time.Since(start)):
		case <-ctx.Done():
			return rows, ctx.Err()
		}
	}
}

const (
	// baselineAge is how long a sweep's mark shows that the clock is right.
	baselineAge = 24 * time.Hour
	// baselineHold is how long sweeps delete nothing without such a mark, so that somebody can correct the clock.
	baselineHold = 24 * time.Hour
	// baselineTolerance is how far NTP may set the clock back after a sweep.
	baselineTolerance = time.Minute
)

// ErrHeld means that Sweep deletes nothing, because the machine's clock may be wrong.
var ErrHeld = errors.New("nothing is deleted for a day, " +
	"because no sweep in the last day shows that this machine's clock is right")

// On SQLite there is only the machine's clock, and if it is wrong, all rows may look too old. So each sweep on SQLite stores
// its time as a mark. If a sweep finds no mark of the last day, or one in the future, sweeps delete nothing for a day.
//
//	no mark, or one of another day ──► held for a day by the clock ──► sweep, again and again
//	        ▲                                                             │
//	        └──────────── the clock leaps, or no worker runs for a day ◄──┘

// takeBaseline stores now as the time of this sweep. It fails with ErrHeld while sweeps must delete nothing.
func (q *Queue) takeBaseline(ctx context.Context, now time.Time) error {
	var held sql.NullTime
	err := q.db.Writer().QueryRowContext(ctx, shared["mark clock"],
		now, now.Add(baselineHold), now.Add(-baselineAge), now.Add(baselineTolerance)).Scan(&held)
	if err != nil {
		return fmt.Errorf("mark the clock: %w", err)
	}
	return heldError(held, now)
}

func heldError(held sql.NullTime, now time.Time) error {
	if !held.Valid || !now.Before(held.Time) {
		return nil
	}
	return fmt.Errorf("%w; until %s: set it right, or wait", ErrHeld, held.Time.UTC().Format(time.RFC3339))
}
