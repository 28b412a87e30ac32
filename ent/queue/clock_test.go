package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
)

const years = 3 * 365 * day

// PostgreSQL's clock decides alone: what this machine's shows is forgotten by nobody.
func TestAProcessWithAWrongClockForgetsNothingYoung(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{ProcessClock: func() time.Time { return time.Now().Add(years) }})
	o := newOutlet(t, d, "atelier")
	o.past(time.Now().Add(-29 * day))
	o.past(time.Now().Add(-31 * day))
	rows, err := queue.New(d).Sweep(t.Context(), 30*day)
	require.NoError(t, err)
	require.EqualValues(t, 2, rows)
	require.Len(t, o.keptEvents(), 1)
}

// What a worker writes down is of the day that it is, not of the day that its clock shows: else no
// sweep would find it.
func TestDeliveriesAreDatedByTheDatabase(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.Postgres, db.Config{ProcessClock: func() time.Time { return time.Now().Add(years) }})
	o := newOutlet(t, s, "atelier")
	o.exec(intoOutbox, o.event(hook.OrderPaid, time.Now()), o.owner, hook.OrderPaid)
	relayed, err := queue.New(s).Relay(t.Context(), 10, time.Minute, func(queue.Lane) bool { return true })
	require.NoError(t, err)
	require.Len(t, relayed.Leased, 1)
	d := relayed.Leased[0]
	require.Less(t, time.Since(id.Time(d.ID)).Abs(), time.Hour)
	require.Less(t, time.Since(d.CreatedAt).Abs(), time.Hour)
	_, err = queue.New(s).Finish(t.Context(), []queue.Outcome{{Delivery: d, Status: queue.Succeeded}})
	require.NoError(t, err)
	require.Equal(t, d.ID, o.journal()[0])
}

// One machine has one clock, and if it is wrong all looks too old: without a sweep of the last day nothing is
// forgotten for a day, and nothing at all when the clock is set right meanwhile.
func TestAClockThatMayBeWrongForgetsNothing(t *testing.T) {
	t.Parallel()
	c := newHandClock(0)
	d := dbtest.New(t, dbtest.SQLite, db.Config{Clock: c.now})
	o := newOutlet(t, d, "atelier")
	o.past(noon)
	sweep := func() error {
		_, err := queue.New(d).Sweep(o.ctx, 30*day)
		return err
	}
	held := func() {
		t.Helper()
		require.ErrorIs(t, sweep(), queue.ErrHeld)
		require.Len(t, o.journal(), 1)
		require.Len(t, o.keptEvents(), 1)
		require.ErrorIs(t, queue.CheckHeld(o.ctx, d), queue.ErrHeld)
	}
	require.NoError(t, queue.CheckHeld(o.ctx, d), "no sweep yet")
	// The first sweep ever, by a clock that is years ahead.
	c.advance(years)
	held()
	c.advance(12 * time.Hour)
	held()
	// Somebody sets it right, which is a day of doubt too.
	c.advance(-years - 12*time.Hour)
	held()
	for range 3 {
		c.advance(day / 2)
		_ = sweep()
	}
	require.NoError(t, queue.CheckHeld(o.ctx, d))
	require.Len(t, o.journal(), 1)

	// No worker for weeks looks the same, and ends after a day.
	c.advance(40 * day)
	held()
	c.advance(day - time.Second)
	held()
	c.advance(time.Second)
	require.NoError(t, sweep())
	require.Empty(t, o.journal())
	require.Empty(t, o.keptEvents())
}
