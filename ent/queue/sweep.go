package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/usage"
)

// sweepBatch is how many rows one transaction deletes where rows are deleted one by one: writers
// wait for it no longer than for a request of their own.
const sweepBatch = 1000

// keyAge is how long the operator's idempotency keys are remembered, at the least.
const keyAge = 24 * time.Hour

// Swept is what one Sweep did.
type Swept struct {
	// Partitions are the names of the tables that were dropped, each a day.
	Partitions []string
	// Rows is how many rows were deleted one by one.
	Rows int64
	// Left are the days that were too old and could not be dropped, with the reason. They are
	// tried again the next time.
	Left []error
}

// Sweep forgets the events and finished deliveries that are older than the retention by the
// database's clock, and makes room for those of the days to come. What deliveries under way still
// need is kept. On PostgreSQL a whole day is dropped at once, once all of it is too old; otherwise
// rows are deleted in the order of their ids, in small transactions. Idempotency keys go by their
// own age. It is safe from several processes at once. It returns db.ErrClock, and deletes nothing,
// while this process's clock and the database's differ by more than db.ClockLimit, and ErrLeapt for a
// day after the database's clock has leapt.
func (q *Queue) Sweep(ctx context.Context, retention time.Duration) (Swept, error) {
	var done Swept
	clock, err := q.db.ReadClock(ctx)
	if err != nil {
		return done, wrap("sweep", err)
	}
	if err := q.db.MakePartitions(ctx); err != nil {
		if !db.IsPutOff(err) {
			return done, wrap("sweep", err)
		}
		done.Left = append(done.Left, err)
	}
	if clock.Beyond(db.ClockLimit) {
		return done, fmt.Errorf("sweep: %w: %v", db.ErrClock, clock)
	}
	if err := q.markClock(ctx, clock.Now); err != nil {
		return done, wrap("sweep", err)
	}
	// An event may be older than its delivery by no more than the retention, else it is gone.
	needed, err := q.oldestNeeded(ctx)
	if err != nil {
		return done, wrap("sweep", err)
	}
	before := clock.Now.Add(-retention)
	if err := q.dropDays(ctx, before, retention, needed, &done); err != nil {
		return done, wrap("sweep", err)
	}
	oldest := id.Floor(before)
	eventsBefore := oldest
	if needed != uuid.Nil && bytes.Compare(needed[:], oldest[:]) < 0 {
		eventsBefore = needed
	}
	for _, table := range []struct {
		name  string
		below uuid.UUID
	}{{"events" + q.dialect.leftover, eventsBefore}, {"finished_deliveries" + q.dialect.leftover, oldest}, {"resends", oldest},
		{"idempotency_keys", id.Floor(clock.Now.Add(-keyAge))},
		{"refused_requests", id.Floor(clock.Now.Add(-usage.Retention))}, {"tallies", id.Floor(clock.Now.Add(-usage.TallyRetention))}} {
		n, err := q.deleteBelow(ctx, table.name, table.below)
		done.Rows += n
		if err != nil {
			return done, wrap("sweep "+table.name, err)
		}
	}
	return done, nil
}

// dropDays drops the partitions whose end is not after before. Once one of a table is put off, the
// others of that table are left too: they would make others wait in vain.
func (q *Queue) dropDays(ctx context.Context, before time.Time, retention time.Duration, needed uuid.UUID, done *Swept) error {
	partitions, err := q.db.Partitions(ctx)
	if err != nil {
		return err
	}
	putOff := map[string]bool{}
	for _, p := range partitions {
		if p.End().After(before) || putOff[p.Table] {
			continue
		}
		end := id.Floor(p.End())
		if p.Table == "events" && needed != uuid.Nil && bytes.Compare(needed[:], end[:]) < 0 {
			done.Left = append(done.Left, fmt.Errorf("%s: a delivery under way needs it", p.Name()))
			continue
		}
		switch err := q.db.DropPartition(ctx, p, retention); {
		case db.IsPutOff(err):
			putOff[p.Table] = true
			done.Left = append(done.Left, err)
		case errors.Is(err, db.ErrTooYoung):
			done.Left = append(done.Left, err)
		case err != nil:
			return err
		default:
			done.Partitions = append(done.Partitions, p.Name())
		}
	}
	return nil
}

// oldestNeeded is the lowest id of an event that a delivery under way or the outbox still needs,
// and the nil id when there is none.
func (q *Queue) oldestNeeded(ctx context.Context) (uuid.UUID, error) {
	oldest := uuid.Nil
	for _, table := range []string{"deliveries", "outbox"} {
		var found uuid.NullUUID
		// Text sorts as the ids do, and has a least one on both databases.
		err := q.db.Reader().QueryRowContext(ctx, "SELECT min(CAST(event_id AS text)) FROM "+table).Scan(&found)
		if err != nil {
			return uuid.Nil, err
		}
		if found.Valid && (oldest == uuid.Nil || bytes.Compare(found.UUID[:], oldest[:]) < 0) {
			oldest = found.UUID
		}
	}
	return oldest, nil
}

// deleteBelow deletes the rows with lower ids, batch by batch.
func (q *Queue) deleteBelow(ctx context.Context, table string, below uuid.UUID) (int64, error) {
	statement := "DELETE FROM " + table + " WHERE id IN (SELECT id FROM " + table + " WHERE id < $1 ORDER BY id LIMIT $2)"
	if table == "resends" {
		statement = "DELETE FROM resends WHERE id IN (SELECT id FROM resends WHERE id < $1 AND finished_at IS NOT NULL ORDER BY id LIMIT $2)"
	}
	total := int64(0)
	for {
		n, err := affected(q.db.Writer().ExecContext(ctx, statement, below, sweepBatch))
		total += n
		if err != nil || n < sweepBatch {
			return total, errors.Join(err, ctx.Err())
		}
	}
}
