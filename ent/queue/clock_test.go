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

// A worker's clock, or the database's, is years from the other: nothing is forgotten, whichever of
// the two is wrong.
func TestAWrongClockForgetsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]db.Config{
		"this process's is ahead":  {ProcessClock: func() time.Time { return time.Now().Add(years) }},
		"this process's is behind": {ProcessClock: func() time.Time { return time.Now().Add(-years) }},
		"the database's is ahead":  {ProcessClock: time.Now, Clock: func() time.Time { return time.Now().Add(years) }},
		"the database's is behind": {ProcessClock: time.Now, Clock: func() time.Time { return time.Now().Add(-years) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.New(t, dbtest.Postgres, c)
			o := newOutlet(t, s, "atelier")
			for age := range 3 {
				o.past(time.Now().Add(-time.Duration(age) * day))
			}
			before, err := s.Partitions(t.Context())
			require.NoError(t, err)
			swept, err := queue.On(s).Sweep(t.Context(), 30*day)
			require.ErrorIs(t, err, db.ErrClock)
			require.ErrorContains(t, err, "this process's clock is")
			require.Empty(t, swept.Partitions)
			require.Zero(t, swept.Rows)
			after, err := s.Partitions(t.Context())
			require.NoError(t, err)
			require.Subset(t, after, before)
			require.Len(t, o.journal(), 3)
			require.Len(t, o.keptEvents(), 3)
		})
	}
}

// What a worker writes down is of the day that it is, not of the day that its clock shows: else no
// sweep would find it.
func TestDeliveriesAreDatedByTheDatabase(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.Postgres, db.Config{ProcessClock: func() time.Time { return time.Now().Add(years) }})
	o := newOutlet(t, s, "atelier")
	o.exec(intoOutbox, o.event(hook.OrderPaid, time.Now()), o.owner, hook.OrderPaid)
	relayed, err := queue.On(s).Relay(t.Context(), 10, time.Minute, func(queue.Lane) bool { return true })
	require.NoError(t, err)
	require.Len(t, relayed.Leased, 1)
	d := relayed.Leased[0]
	require.Less(t, time.Since(id.Time(d.ID)).Abs(), time.Hour)
	require.Less(t, time.Since(d.CreatedAt).Abs(), time.Hour)
	_, err = queue.On(s).Finish(t.Context(), []queue.Outcome{{Delivery: d, Status: queue.Succeeded}})
	require.NoError(t, err)
	var inDefault int
	require.NoError(t, s.Reader().QueryRow("SELECT count(*) FROM finished_deliveries_default").Scan(&inDefault))
	require.Zero(t, inDefault)
	require.Equal(t, d.ID, o.journal()[0])
}

// One machine has one clock, and when it leaps all looks too old: nothing is forgotten for a day, and
// nothing at all when the clock is set right meanwhile.
func TestALeapOfTheClockForgetsNothing(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		dbtest.MakePartitions(t, s)
		o := newOutlet(t, s, "atelier")
		o.past(noon)
		require.NoError(t, queue.CheckClock(o.ctx, s))
		o.sweep()
		held := func() {
			t.Helper()
			swept, err := queue.On(s).Sweep(o.ctx, 30*day)
			require.ErrorIs(t, err, queue.ErrLeapt)
			require.Empty(t, swept.Partitions)
			require.Zero(t, swept.Rows)
			require.Len(t, o.journal(), 1)
			require.Len(t, o.keptEvents(), 1)
			require.ErrorIs(t, queue.CheckClock(o.ctx, s), queue.ErrLeapt)
		}
		c.advance(years)
		held()
		c.advance(12 * time.Hour)
		held()

		// Somebody sets it right.
		c.advance(-years - 12*time.Hour)
		o.sweep()
		require.Len(t, o.journal(), 1)
		require.NoError(t, queue.CheckClock(o.ctx, s))

		// No worker for weeks looks the same, and ends after a day.
		c.advance(40 * day)
		held()
		c.advance(day - time.Second)
		held()
		c.advance(time.Second)
		o.sweep()
		require.Empty(t, o.journal())
		require.Empty(t, o.keptEvents())

		// A worker that runs all the while is never held.
		for range 30 {
			o.past(c.now())
			c.advance(6 * day)
			o.sweep()
		}
		require.Len(t, o.journal(), 5)
	})
}
