package queue_test

import (
	"testing"
	"time"

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

// sweep stores the mark of an earlier sweep, and calls Sweep with a retention of 30 days.
func (o outlet) sweep() int64 {
	o.t.Helper()
	o.exec("DELETE FROM clock_marks")
	o.exec("INSERT INTO clock_marks (id, seen_at) VALUES ('journal', $1)", o.Now())
	rows, err := queue.New(o.DB).Sweep(o.ctx, 30*day)
	require.NoError(o.t, err)
	return rows
}

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
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		o.past(noon.Add(-40 * day))
		o.past(noon)
		cut := noon.Add(2 * day)
		o.past(cut.Add(-time.Millisecond))
		keptEvent, keptDelivery := o.past(cut)
		c.advance(32 * day)
		require.EqualValues(t, 6, o.sweep())
		require.Equal(t, []uuid.UUID{keptEvent}, o.keptEvents(), "to the millisecond")
		require.Equal(t, []uuid.UUID{keptDelivery}, o.journal())
		require.Zero(t, o.sweep(), "nothing is left to forget")
	})
}

func TestSweepKeepsWhatIsStillNeeded(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		before, _ := o.past(noon.Add(-time.Minute))
		needed, delivery := o.past(noon)
		later, _ := o.past(noon.Add(2 * day))
		o.add(o.draft(o.webhook, needed))
		c.advance(40 * day)
		o.sweep()
		require.Subset(t, o.keptEvents(), []uuid.UUID{needed, later}, "an event that is sent again, and those since")
		require.NotContains(t, o.keptEvents(), before)
		require.NotContains(t, o.journal(), delivery, "the journal needs no event")

		o.exec("DELETE FROM deliveries")
		o.sweep()
		require.Empty(t, o.keptEvents())
	})
}

func TestSweepDeletesInBatches(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		o.events(2500, noon)
		c.advance(30*day + 2*time.Second)
		require.EqualValues(t, 2000, o.sweep())
		require.Equal(t, 500, d.Client().Event.Query().CountX(o.ctx))
	})
}

func TestSweepForgetsResendsThatAreFinished(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		finished := o.carryOut(o.order(noon.Add(-time.Hour)))
		c.advance(time.Hour)
		unfinished := o.order(noon)
		c.advance(31 * day)
		require.EqualValues(t, 1, o.sweep())
		require.Equal(t, 1, dbtest.Count(t, d, "resends WHERE id = $1", unfinished.ID))
		require.Equal(t, 1, dbtest.Count(t, d, "resends"))
		require.NotEqual(t, finished.ID, unfinished.ID)
	})
}

func TestSweepForgetsIdempotencyKeysAfterADay(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 3, 2, 10, 0, 0, 0, time.UTC)
	dbtest.RunWith(t, db.Config{Clock: func() time.Time { return now }}, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		add := func(age time.Duration) {
			_, err := d.Writer().ExecContext(ctx, `INSERT INTO idempotency_keys (id, store_id, operation, key, request, answer, created_at)
 VALUES ($1, $2, 'order.create', $3, $4, $5, $6)`, id.At(now.Add(-age)), id.At(now), age.String(), make([]byte, 32), []byte{1}, now.Add(-age))
			require.NoError(t, err)
		}
		add(23 * time.Hour)
		add(25 * time.Hour)
		_, err := d.Writer().Exec("INSERT INTO clock_marks (id, seen_at) VALUES ('journal', $1)", now)
		require.NoError(t, err)
		_, err = queue.New(d).Sweep(ctx, 30*day)
		require.NoError(t, err)
		var left string
		require.NoError(t, d.Reader().QueryRowContext(ctx, "SELECT key FROM idempotency_keys").Scan(&left))
		require.Equal(t, "23h0m0s", left)
	})
}
