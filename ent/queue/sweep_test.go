package queue_test

import (
	"fmt"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent/event"
)

const day = 24 * time.Hour

// sweep forgets what is older than 30 days, also what a busy machine puts off.
func (o outlet) sweep() queue.Swept {
	o.t.Helper()
	var all queue.Swept
	err := dbtest.NotPutOff(func() error {
		swept := o.sweepOnce()
		all.Rows, all.Partitions, all.Left = all.Rows+swept.Rows, append(all.Partitions, swept.Partitions...), swept.Left
		for _, left := range swept.Left {
			if db.IsPutOff(left) {
				return left
			}
		}
		return nil
	})
	require.NoError(o.t, err)
	return all
}

// sweepOnce is sweep without what is put off.
func (o outlet) sweepOnce() queue.Swept {
	o.t.Helper()
	swept, err := queue.On(o.DB).Sweep(o.ctx, 30*day)
	require.NoError(o.t, err)
	return swept
}

// past is an event with its delivery in the journal, both made at a time.
func (o outlet) past(at time.Time) (event, delivery uuid.UUID) {
	o.t.Helper()
	d := o.draft(o.webhook, o.event(hook.OrderPaid, at))
	d.ID = id.At(at)
	o.ended(d, queue.Succeeded)
	return d.EventID, d.ID
}

func (o outlet) keptEvents() []uuid.UUID {
	return o.Client().Event.Query().Order(event.ByID()).IDsX(o.ctx)
}

func (o outlet) journal() []uuid.UUID {
	var ids []uuid.UUID
	for _, d := range dbtest.FinishedDeliveries(o.t, o.DB, "true ORDER BY id") {
		ids = append(ids, d.ID)
	}
	return ids
}

func TestSweepForgetsWhatIsTooOld(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		dbtest.MakePartitions(t, s)
		o := newOutlet(t, s, "atelier")
		// noon is the middle of a day.
		o.past(noon.Add(-40 * day)) // there was no partition of that day
		o.past(noon)
		o.past(noon.Add(day))
		cut := noon.Add(2 * day)
		oldEvent, oldDelivery := o.past(cut.Add(-time.Millisecond))
		keptEvent, keptDelivery := o.past(cut)
		c.advance(32 * day)
		swept := o.sweep()
		require.Empty(t, swept.Left)
		if s.Dialect() == dialect.SQLite {
			require.Equal(t, int64(8), swept.Rows)
			require.Empty(t, swept.Partitions)
			require.Equal(t, []uuid.UUID{keptEvent}, o.keptEvents(), "to the millisecond")
			require.Equal(t, []uuid.UUID{keptDelivery}, o.journal())
			return
		}
		require.Equal(t, int64(2), swept.Rows, "those without a partition")
		require.ElementsMatch(t, []string{
			"events_20261001", "events_20261002", "finished_deliveries_20261001", "finished_deliveries_20261002",
		}, swept.Partitions, "whole days only")
		require.Equal(t, []uuid.UUID{oldEvent, keptEvent}, o.keptEvents())
		require.Equal(t, []uuid.UUID{oldDelivery, keptDelivery}, o.journal())
		partitions, err := s.Partitions(o.ctx)
		require.NoError(t, err)
		require.Contains(t, partitions, db.Partition{Table: "events", Day: s.Now().Truncate(day)}, "today's is made")
		swept = o.sweep()
		require.Equal(t, queue.Swept{}, swept, "nothing is left to forget")
	})
}

func TestSweepKeepsWhatIsStillNeeded(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		dbtest.MakePartitions(t, s)
		o := newOutlet(t, s, "atelier")
		before, _ := o.past(noon.Add(-time.Minute))
		needed, delivery := o.past(noon)
		later, _ := o.past(noon.Add(2 * day))
		o.add(o.draft(o.webhook, needed))
		c.advance(40 * day)
		swept := o.sweep()
		require.Subset(t, o.keptEvents(), []uuid.UUID{needed, later}, "an event that is sent again, and those since")
		if s.Dialect() == dialect.SQLite {
			require.NotContains(t, o.keptEvents(), before)
		}
		require.NotContains(t, o.journal(), delivery, "the journal needs no event")
		if s.Dialect() == dialect.Postgres {
			require.NotEmpty(t, swept.Left)
			require.Contains(t, fmt.Sprint(swept.Left), "events_20261001: a delivery under way needs it")
		}

		// The same for what the outbox holds.
		o.exec("DELETE FROM deliveries")
		o.exec(intoOutbox, needed, o.owner, hook.OrderPaid)
		o.sweep()
		require.Contains(t, o.keptEvents(), needed)
		o.exec("DELETE FROM outbox")
		require.Empty(t, o.sweep().Left)
		require.Empty(t, o.keptEvents())
	})
}

func TestSweepDeletesInBatches(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o := newOutlet(t, s, "atelier")
		// No partitions: all of it is in the default ones of PostgreSQL.
		o.events(2500, noon)
		c.advance(30*day + 2*time.Second)
		swept := o.sweep()
		require.Equal(t, int64(2000), swept.Rows)
		require.Equal(t, 500, s.Client().Event.Query().CountX(o.ctx))
	})
}

func TestSweepForgetsResendsThatAreFinished(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o := newOutlet(t, s, "atelier")
		finished := o.carryOut(o.order(noon.Add(-time.Hour)))
		c.advance(time.Hour)
		unfinished := o.order(noon)
		c.advance(31 * day)
		require.Equal(t, int64(1), o.sweep().Rows)
		require.Equal(t, 1, dbtest.Count(t, s, "resends WHERE id = $1", unfinished.ID))
		require.Equal(t, 1, dbtest.Count(t, s, "resends"))
		require.NotEqual(t, finished.ID, unfinished.ID)
	})
}

// Somebody who reads a day's table for long holds up nobody: the day is dropped the next time.
func TestSweepLeavesWhatIsLocked(t *testing.T) {
	t.Parallel()
	c := newHandClock(0)
	s := dbtest.New(t, dbtest.Postgres, db.Config{Clock: c.now})
	dbtest.MakePartitions(t, s)
	o := newOutlet(t, s, "atelier")
	o.past(noon)
	reading, err := s.Writer().Begin()
	require.NoError(t, err)
	defer func() { _ = reading.Rollback() }()
	_, err = reading.Exec("SELECT count(*) FROM finished_deliveries_20261001")
	require.NoError(t, err)
	c.advance(31 * day)
	dbtest.MakePartitions(t, s)
	var swept queue.Swept
	for tries := 0; len(swept.Partitions) == 0 && tries < 100; tries++ {
		swept = o.sweepOnce()
	}
	require.Equal(t, []string{"events_20261001"}, swept.Partitions)
	require.Len(t, swept.Left, 1)
	require.True(t, db.IsLocked(swept.Left[0]))
	require.ErrorContains(t, swept.Left[0], "finished_deliveries_20261001")
	require.Len(t, o.journal(), 1)
	require.NoError(t, reading.Rollback())
	require.Equal(t, []string{"finished_deliveries_20261001"}, o.sweep().Partitions)
	require.Empty(t, o.journal())
}

// What a checkout was answered is remembered for a day.
func TestSweepForgetsIdempotencyKeysAfterADay(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 3, 2, 10, 0, 0, 0, time.UTC)
	dbtest.RunWith(t, db.Config{Clock: func() time.Time { return now }}, func(t *testing.T, s *db.DB) {
		ctx := t.Context()
		add := func(age time.Duration) {
			_, err := s.Writer().ExecContext(ctx, `INSERT INTO idempotency_keys (id, store_id, operation, key, request, answer, created_at)
 VALUES ($1, $2, 'order.create', $3, $4, $5, $6)`, id.At(now.Add(-age)), id.At(now), age.String(), make([]byte, 32), []byte{1}, now.Add(-age))
			require.NoError(t, err)
		}
		add(23 * time.Hour)
		add(25 * time.Hour)
		_, err := queue.On(s).Sweep(ctx, 30*day)
		require.NoError(t, err)
		var left string
		require.NoError(t, s.Reader().QueryRowContext(ctx, "SELECT key FROM idempotency_keys").Scan(&left))
		require.Equal(t, "23h0m0s", left)
	})
}
