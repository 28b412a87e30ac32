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

// On PostgreSQL only the database's clock decides what Sweep deletes.
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

// Even if a worker's clock is years ahead: no sweep would delete rows with future dates in time.
func TestDeliveriesAreDatedByTheDatabase(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.Postgres, db.Config{ProcessClock: func() time.Time { return time.Now().Add(years) }})
	o := newOutlet(t, s, "atelier")
	o.emit(hook.OrderPaid)
	claimed := o.claim(queue.New(s), queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 2})
	require.Len(t, claimed, 1)
	d := claimed[0]
	require.Less(t, time.Since(id.Time(d.ID)).Abs(), time.Hour)
	require.Less(t, time.Since(d.CreatedAt).Abs(), time.Hour)
	_, err := queue.New(s).Finish(t.Context(), []queue.Outcome{{Delivery: d, Status: queue.Succeeded}})
	require.NoError(t, err)
	require.Equal(t, d.ID, o.journal()[0])
}

// On SQLite, without a sweep in the last day, the clock may be wrong and all rows may look too old. Somebody has a day to
// correct it.
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
	}
	// At the first sweep ever, the clock is three years ahead.
	c.advance(years)
	held()
	c.advance(12 * time.Hour)
	held()
	// The clock is corrected. Sweeps delete nothing for another day.
	c.advance(-years - 12*time.Hour)
	held()
	for range 3 {
		c.advance(day / 2)
		_ = sweep()
	}
	require.NoError(t, sweep())
	require.Len(t, o.journal(), 1)

	// After weeks without a worker, sweeps again delete nothing for a day.
	c.advance(40 * day)
	held()
	c.advance(day - time.Second)
	held()
	c.advance(time.Second)
	require.NoError(t, sweep())
	require.Empty(t, o.journal())
	require.Empty(t, o.keptEvents())
}
