package worker

import (
	"bytes"
	"context"
	"net/http"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
)

type running struct {
	*Worker
	t     testing.TB
	stop  context.CancelFunc
	ended chan struct{}
	label string
}

// run starts a worker, which the test's cleanup stops.
func (in *installation) run(change ...func(*Worker)) *running {
	in.t.Helper()
	w, err := New(context.Background(), in.config())
	require.NoError(in.t, err)
	for _, f := range change {
		f(w)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Worker: w, t: in.t, stop: stop, ended: make(chan struct{}, 1), label: uuid.NewString()}
	in.Announce() // starts the database's own goroutine, which outlives the worker
	go pprof.Do(ctx, pprof.Labels("worker", r.label), func(ctx context.Context) {
		w.Run(ctx)
		r.ended <- struct{}{}
	})
	in.t.Cleanup(func() {
		stop()
		require.Eventually(in.t, func() bool { return len(r.ended) > 0 }, hangGuard, time.Millisecond)
	})
	return r
}

// wait fails the test if a goroutine of the worker is left.
func (r *running) wait() {
	r.t.Helper()
	select {
	case <-r.ended:
		r.ended <- struct{}{}
	case <-time.After(hangGuard):
		require.FailNow(r.t, "the worker does not stop")
	}
	require.Eventually(r.t, func() bool {
		var all bytes.Buffer
		require.NoError(r.t, pprof.Lookup("goroutine").WriteTo(&all, 1))
		left := ""
		for stack := range strings.SplitSeq(all.String(), "\n\n") {
			if strings.Contains(stack, r.label) {
				left += stack
			}
		}
		return left == ""
	}, hangGuard, 5*time.Millisecond, "no goroutine is left")
}

func (in *installation) arrives() request {
	in.t.Helper()
	select {
	case r := <-in.receiver.arrived:
		return r
	case <-time.After(hangGuard):
		require.FailNow(in.t, "nothing arrives")
		return request{}
	}
}

// becomes waits until a delivery is finished with the status want, and returns its attempts.
func (in *installation) becomes(webhook, event uuid.UUID, want string) []queue.Attempt {
	in.t.Helper()
	var attempts []queue.Attempt
	require.Eventually(in.t, func() bool {
		status, made := in.journal(webhook, event)
		attempts = made
		return status == want
	}, hangGuard, 5*time.Millisecond)
	return attempts
}

func TestAWorkerThatIsToldToStop(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		in.receiver.watch()
		open := in.receiver.hold()
		defer open()
		w := in.run(func(w *Worker) { w.lanes = newLanes(1) })
		event := m.emit(hook.OrderPaid, 1)[0]
		in.arrives()
		later := m.emit(hook.OrderPaid, 1)[0] // waits, because the only attempt of the lane pool is still running
		w.stop()
		require.Empty(t, w.ended, "it waits for the attempt under way")
		open()
		w.wait()
		status, attempts := in.journal(webhook, event)
		require.Equal(t, "succeeded", status, "what was under way is written down")
		require.Len(t, attempts, 1, "attempts in the journal")
		require.Len(t, in.receiver.got(), 1, "nothing more was begun")
		require.Equal(t, later, in.delivery().EventID)
		require.Nil(t, in.delivery().Lease)
	})
}

func TestWhatDoesNotEndInTimeIsGivenBack(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		in.receiver.watch()
		in.receiver.always(hang)
		w := in.run(func(w *Worker) { w.stopTimeout = 10 * time.Millisecond })
		event := m.emit(hook.OrderPaid, 1)[0]
		in.arrives()
		w.stop()
		w.wait()
		row := in.delivery()
		require.Nil(t, row.Lease)
		require.True(t, in.Now().Equal(row.DueAt), "due at once")
		require.Equal(t, "[]", string(row.Attempts), "it is no failure")
		require.Nil(t, m.webhook(webhook).FailingSince)

		in.receiver.always(http.StatusOK)
		in.run()
		require.Equal(t, 1, in.arrives().attempt)
		in.becomes(webhook, event, "succeeded")
	})
}

// Another worker makes the attempt. The slow worker's late result does not count.
func TestALeaseThatEnds(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		event := m.emit(hook.OrderPaid, 1)[0]
		in.receiver.always(http.StatusInternalServerError)
		slow, quick := in.worker(), in.worker()
		require.Equal(t, 1, slow.begin(), "attempts that were due and are begun")
		in.clock.advance(slow.leaseDuration() - time.Millisecond)
		require.Zero(t, quick.pass())
		in.clock.advance(time.Millisecond)
		late := slow.one() // waits for the receiver's answer, but does not write the result
		in.receiver.always(http.StatusNoContent)
		require.Equal(t, 1, quick.begin(), "attempts that were due and are begun")
		during := in.delivery()
		require.NoError(t, slow.writeOnce(m.ctx, []endedLease{late}))
		require.Equal(t, during, in.delivery(), "it is the other's now")
		quick.finish()
		require.NoError(t, slow.writeOnce(m.ctx, []endedLease{late}))
		status, attempts := in.journal(webhook, event)
		require.Equal(t, "succeeded", status, "the status in the journal")
		require.Len(t, attempts, 1, "attempts in the journal")
		require.Zero(t, dbtest.Count(t, in.DB, "deliveries"))
	})
}

// A slow database, as when a commit waits for a standby, lets a lease end before the worker gets it. Another worker may have
// made the attempt.
func TestALeaseThatEndsBeforeItsAttempt(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		event := m.emit(hook.OrderPaid, 1)[0]
		slow, quick := in.worker(), in.worker()
		asked := time.Now().Add(-slow.leaseDuration())
		got, err := slow.queue.Claim(m.ctx, []queue.ClaimRequest{{Lane: queue.Lane{StoreID: m.id, WebhookID: webhook}, Max: 1}},
			slow.leaseDuration())
		require.NoError(t, err)
		require.Len(t, got, 1)
		in.clock.advance(slow.leaseDuration())
		require.Equal(t, 1, quick.pass(), "attempts that were due and are made")
		slow.deliver(m.ctx, got[0], asked)
		late := slow.one()
		require.True(t, late.released)
		require.NoError(t, slow.writeOnce(m.ctx, []endedLease{late}))
		require.Len(t, in.receiver.got(), 1, "it is sent once")
		status, attempts := in.journal(webhook, event)
		require.Equal(t, "succeeded", status, "the status in the journal")
		require.Len(t, attempts, 1, "attempts in the journal")
	})
}

func TestAWorkerThatIsKilled(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		events := m.emit(hook.OrderPaid, 10)
		killed := in.worker()
		begun := killed.begin()
		require.Positive(t, begun)
		killed.die()
		require.LessOrEqual(t, in.worker().leaseDuration(), hangGuard+15*time.Second)
		survivor := in.worker()
		require.Equal(t, len(events)-begun, survivor.pass(), "what nobody has leased")
		in.clock.advance(survivor.leaseDuration())
		require.Equal(t, begun, survivor.pass(), "and the rest once the leases end")
		for _, event := range events {
			status, attempts := in.journal(webhook, event)
			require.Equal(t, "succeeded", status, "the status in the journal")
			require.Len(t, attempts, 1, "attempts in the journal")
		}
		require.Len(t, in.receiver.got(), len(events)+begun)
	})
}

// The worker writes the results later.
func TestADatabaseThatRefusesOutcomes(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		in.receiver.watch()
		open := in.receiver.hold()
		defer open()
		var log lines
		w := in.run(func(w *Worker) { w.config.Logger = log.logger() })
		event := m.emit(hook.OrderPaid, 1)[0]
		in.arrives()
		in.exec("ALTER TABLE finished_deliveries RENAME TO away")
		open()
		log.waitFor(t, "write outcomes down")
		w.stop() // the worker does not end before it has written the result
		in.exec("ALTER TABLE away RENAME TO finished_deliveries")
		w.wait()
		status, attempts := in.journal(webhook, event)
		require.Equal(t, "succeeded", status, "the status in the journal")
		require.Len(t, attempts, 1, "attempts in the journal")
		require.Len(t, in.receiver.got(), 1, "it is not sent again")
	})
}

// All connections break during an attempt, and new ones fail for a while. Then the result is written, new events are delivered,
// and nothing is sent twice.
func TestADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	way := dbtest.NewProxy(t, dbtest.URL(t, dbtest.Postgres))
	in := newInstallationAt(t, way.URL)
	m := in.newMerchant("atelier")
	webhook := m.newWebhook()
	in.receiver.watch()
	open := in.receiver.hold()
	defer open()
	var log lines
	w := in.run(func(w *Worker) { w.config.Logger = log.logger() })
	event := m.emit(hook.OrderPaid, 1)[0]
	in.arrives()
	way.Shut()
	open()
	log.waitFor(t, "write outcomes down")
	way.Open()
	require.Len(t, in.becomes(webhook, event, "succeeded"), 1)
	later := m.emit(hook.OrderPaid, 1)[0]
	require.Equal(t, later, in.arrives().event, "it goes on")
	in.becomes(webhook, later, "succeeded")
	w.stop()
	w.wait()
	require.Len(t, in.receiver.got(), 2, "nothing is sent twice")
}

// The server vanishes behind a proxy. The worker opens new connections.
func TestADatabaseThatFallsSilent(t *testing.T) {
	t.Parallel()
	way := dbtest.NewProxy(t, dbtest.URL(t, dbtest.Postgres))
	in := newInstallationAt(t, way.URL)
	m := in.newMerchant("atelier")
	webhook := m.newWebhook()
	in.receiver.watch()
	w := in.run(func(w *Worker) { w.config.Timeout = time.Millisecond }) // makes leases short; attempts keep the client's timeout
	first := m.emit(hook.OrderPaid, 1)[0]
	require.Equal(t, first, in.arrives().event)
	in.becomes(webhook, first, "succeeded")
	later := m.emit(hook.OrderPaid, 1)[0]
	require.Equal(t, later, in.arrives().event)
	in.becomes(webhook, later, "succeeded")
	way.Freeze()
	other := newInstallationAt(t, way.URL)
	m.DB = other.DB
	after := m.emit(hook.OrderPaid, 1)[0]
	select {
	case r := <-in.receiver.arrived:
		require.Equal(t, after, r.event)
	case <-time.After(hangGuard):
		require.FailNow(t, "the worker waits for what never comes")
	}
	w.stop()
	w.wait()
}

// Two leases end while the database is unreachable. Their results are dropped and counted.
func TestOutcomesOfLostLeasesAreCounted(t *testing.T) {
	t.Parallel()
	way := dbtest.NewProxy(t, dbtest.URL(t, dbtest.Postgres))
	in := newInstallationAt(t, way.URL)
	registry := prometheus.NewPedanticRegistry()
	w := in.worker(func(c *Config) { c.Metrics = registry })
	way.Shut()
	ended := time.Now().Add(-w.leaseDuration())
	w.write(t.Context(), []endedLease{{leased: ended}, {leased: ended}})
	require.EqualValues(t, 2, values(t, registry)["leases_lost_total"])
}

// A worker continues a resend whose process died, and deletes old data.
func TestWhatElseAWorkerSeesTo(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		event, old := id.At(in.Now()), id.At(in.Now().Add(-31*24*time.Hour))
		m.change(func(c *hook.Change) error {
			for _, made := range []uuid.UUID{event, old} {
				if err := c.Tx.Event.Create().SetID(made).SetStoreID(m.id).SetType(hook.OrderPaid).SetPayload([]byte("{}")).
					SetCreatedAt(id.Time(made)).Exec(c); err != nil {
					return err
				}
			}
			return nil
		})
		in.clock.advance(time.Second)
		m.change(func(c *hook.Change) error {
			_, err := queue.OrderResend(c, m.id, webhook, noon)
			return err
		})
		in.clock.advance(time.Minute)
		_, err := in.Writer().Exec("INSERT INTO clock_marks (id, seen_at) VALUES ('journal', $1)", in.Now()) // as if a sweep had run
		require.NoError(t, err)
		w := in.run()
		require.Len(t, in.becomes(webhook, event, "succeeded"), 1)
		require.Eventually(t, func() bool { return in.Client().Event.Query().CountX(m.ctx) == 1 }, hangGuard, 5*time.Millisecond)
		w.stop()
		w.wait()
		require.Equal(t, event, in.Client().Event.Query().OnlyX(m.ctx).ID)
	})
}
