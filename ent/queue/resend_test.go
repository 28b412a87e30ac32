package queue_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
)

func (o outlet) order(since time.Time) queue.Resend {
	o.t.Helper()
	var r queue.Resend
	o.change(func(c *hook.Change) (err error) {
		r, err = queue.OrderResend(c, o.owner, o.webhook, since)
		return err
	})
	return r
}

func (o outlet) carryOut(r queue.Resend) queue.Resend {
	o.t.Helper()
	for !r.Finished {
		r = o.step(r.ID)
	}
	return r
}

func (o outlet) step(resend uuid.UUID) queue.Resend {
	o.t.Helper()
	r, err := queue.StepResend(o.ctx, o.DB, resend)
	require.NoError(o.t, err)
	return r
}

// forEach runs f on each kind of database. The clock c advances by step at each reading.
func forEach(t *testing.T, step time.Duration, f func(t *testing.T, d *db.DB, c *handClock)) {
	t.Helper()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHandClock(step)
			f(t, dbtest.New(t, name, db.Config{Clock: c.now}), c)
		})
	}
}

func TestResendTakesWhatNeverSucceeded(t *testing.T) {
	t.Parallel()
	since := noon.Add(-time.Hour)
	rows := []struct {
		reason string
		kind   string
		at     time.Time
		// brings the event's delivery into the state that reason names; nil if there is none
		became func(o outlet, event uuid.UUID)
		taken  bool
	}{
		{"it never had a delivery there, as while the webhook was disabled", hook.OrderPaid, since.Add(time.Minute), nil, true},
		{"it happened at the very time", hook.OrderFailed, since, nil, true},
		{"it happened before", hook.OrderPaid, since.Add(-time.Millisecond), nil, false},
		{"it happened before the order, by a clock that is ahead", hook.OrderPaid, noon.Add(30 * time.Second), nil, true},
		{"it happens after the order by every clock", hook.OrderPaid, noon.Add(time.Hour), nil, false},
		{"its delivery failed", hook.OrderPaid, since.Add(time.Minute), func(o outlet, event uuid.UUID) {
			o.ended(o.draft(o.webhook, event), queue.Failed)
		}, true},
		{"its delivery was cancelled", hook.OrderPaid, since.Add(time.Minute), func(o outlet, event uuid.UUID) {
			o.ended(o.draft(o.webhook, event), queue.Cancelled)
		}, true},
		{"its delivery succeeded", hook.OrderPaid, since.Add(time.Minute), func(o outlet, event uuid.UUID) {
			o.ended(o.draft(o.webhook, event), queue.Succeeded)
		}, false},
		{"its second delivery succeeded", hook.OrderPaid, since.Add(time.Minute), func(o outlet, event uuid.UUID) {
			o.ended(o.draft(o.webhook, event), queue.Failed)
			o.ended(o.draft(o.webhook, event), queue.Succeeded)
		}, false},
		{"its delivery to another webhook succeeded", hook.OrderPaid, since.Add(time.Minute), func(o outlet, event uuid.UUID) {
			o.ended(o.draft(uuid.New(), event), queue.Succeeded)
		}, true},
		{"its delivery is on its way", hook.OrderPaid, since.Add(time.Minute), func(o outlet, event uuid.UUID) {
			o.add(o.draft(o.webhook, event))
		}, false},
		{"its delivery to another webhook is on its way", hook.OrderPaid, since.Add(time.Minute), func(o outlet, event uuid.UUID) {
			o.add(o.draft(uuid.New(), event))
		}, true},
		{"the webhook does not subscribe to the type", hook.CustomerCreated, since.Add(time.Minute), nil, false},
		{"nothing subscribes to a ping", "ping", since.Add(time.Minute), nil, false},
	}
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		o := newOutlet(t, d, "atelier")
		newOutlet(t, d, "elsewhere").events(3, since.Add(time.Minute))
		events := make([]uuid.UUID, len(rows))
		waiting, want := 0, 0
		for i, row := range rows {
			events[i] = o.event(row.kind, row.at)
			if row.became != nil {
				row.became(o, events[i])
			}
			waiting += o.live(o.webhook)[events[i]]
			if row.taken {
				want++
			}
		}
		r := o.carryOut(o.order(since))
		require.Equal(t, want, r.Resent)
		live := o.live(o.webhook)
		require.Len(t, live, want+waiting, "and nothing else")
		for i, row := range rows {
			if row.taken {
				require.Equal(t, 1, live[events[i]], row.reason)
			} else {
				require.LessOrEqual(t, live[events[i]], 1, row.reason)
			}
		}
		require.Zero(t, o.carryOut(o.order(since)).Resent, "said again while all of it waits, it adds nothing")
		require.Equal(t, live, o.live(o.webhook))
	})
}

func TestResendGoesOnWhereAKilledProcessLeftIt(t *testing.T) {
	t.Parallel()
	const n = 1103
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		since := noon.Add(-time.Hour)
		o.events(n, since)
		r := o.order(since)
		r = o.step(r.ID)
		require.Equal(t, 500, r.Resent)
		require.False(t, r.Finished)

		// Now the resend's process dies, and another process finds the resend.
		unfinished, err := queue.UnfinishedResends(o.ctx, d, 10)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{r.ID}, unfinished)
		taken := o.step(r.ID)
		require.Equal(t, 1000, taken.Resent)
		// The first process is not dead but slow, and takes another step.
		require.Equal(t, n, o.step(r.ID).Resent)
		taken = o.carryOut(taken)
		require.Equal(t, n, taken.Resent)
		live := o.live(o.webhook)
		require.Len(t, live, n)
		for event, count := range live {
			require.Equal(t, 1, count, event)
		}
		unfinished, err = queue.UnfinishedResends(o.ctx, d, 10)
		require.NoError(t, err)
		require.Empty(t, unfinished, "a finished one is nobody's")
		require.Equal(t, n, o.step(r.ID).Resent, "a step of a finished one does nothing")
		require.Len(t, o.live(o.webhook), n)
	})
}

func TestResendNeverDoublesHoweverManyWorkOnIt(t *testing.T) {
	t.Parallel()
	const n = 1100
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		o := newOutlet(t, d, "atelier")
		since := noon.Add(-48 * time.Hour)
		o.events(n, since)
		// Two resends whose events overlap run at once, each in two processes.
		jobs := []queue.Resend{o.order(since.Add(400 * time.Millisecond)), o.order(since)}
		require.NotEqual(t, jobs[0].ID, jobs[1].ID)
		var group sync.WaitGroup
		resent := make([]int, len(jobs))
		for i, job := range append(jobs, jobs...) {
			group.Go(func() {
				for {
					r, err := queue.StepResend(o.ctx, d, job.ID)
					if err != nil {
						t.Error(err)
						return
					}
					if r.Finished {
						if i < len(jobs) {
							resent[i] = r.Resent
						}
						return
					}
				}
			})
		}
		group.Wait()
		live := o.live(o.webhook)
		require.Len(t, live, n)
		for event, count := range live {
			require.Equal(t, 1, count, event)
		}
		require.Equal(t, n, resent[0]+resent[1])
	})
}

func TestResendEndsWithItsWebhook(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason, statement string
	}{
		{"disabled", "UPDATE webhooks SET enabled = false WHERE id = $1"},
		{"deleted", "DELETE FROM webhooks WHERE id = $1"},
	}
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		for _, row := range rows {
			o := newOutlet(t, d, row.reason)
			since := noon.Add(-time.Hour)
			o.events(700, since)
			r := o.order(since)
			r = o.step(r.ID)
			o.change(func(c *hook.Change) error {
				_, err := c.Tx.ExecContext(c, row.statement, o.webhook)
				return err
			})
			r = o.step(r.ID)
			require.True(t, r.Finished && r.Stopped, row.reason)
			require.Equal(t, 500, r.Resent, row.reason)
			require.Len(t, o.live(o.webhook), 500, row.reason)
		}
		_, err := queue.StepResend(t.Context(), d, id.At(noon))
		require.ErrorIs(t, err, queue.ErrNoResend)
	})
}
