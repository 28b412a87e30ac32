package worker

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

const hangGuard = 2 * time.Minute

var noon = time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)

// handClock is a clock that a test moves. Goroutines share it.
type handClock struct{ milliseconds atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.milliseconds.Store(noon.UnixMilli())
	return c
}

func (c *handClock) now() time.Time { return time.UnixMilli(c.milliseconds.Load()).UTC() }

func (c *handClock) advance(d time.Duration) { c.milliseconds.Add(d.Milliseconds()) }

// installation is a database with a receiver that all its webhooks share.
type installation struct {
	*db.DB
	t        testing.TB
	clock    *handClock
	ring     *seal.Keyring
	receiver *receiver
	// secrets has the signing secrets by the webhooks' ids.
	secrets map[uuid.UUID]string
}

// forEach runs f once for each database, with a clock of its own.
func forEach(t *testing.T, f func(t *testing.T, in *installation)) {
	t.Helper()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, newInstallation(t, name))
		})
	}
}

func newInstallation(t testing.TB, database string) *installation {
	t.Helper()
	return newInstallationAt(t, dbtest.URL(t, database))
}

// newInstallationAt returns an installation on the migrated database at url.
func newInstallationAt(t testing.TB, url string) *installation {
	t.Helper()
	clock := newHandClock()
	d, err := hook.Open(context.Background(), db.Config{URL: url, Clock: clock.now, Settings: queue.Settings(), MaxConns: 8})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return &installation{
		DB: d, t: t, clock: clock, ring: seal.NewKeyring(newKey(t)), receiver: newReceiver(t), secrets: map[uuid.UUID]string{},
	}
}

func newKey(t testing.TB) seal.Key {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	return key
}

type merchant struct {
	*installation
	ctx context.Context
	id  uuid.UUID
}

func (in *installation) newMerchant(slug string) merchant {
	in.t.Helper()
	m := merchant{installation: in, id: uuid.New()}
	m.ctx = tenant.With(context.Background(), tenant.Store{ID: m.id, Slug: slug, Currency: "XAF"},
		tenant.Actor{Type: tenant.ActorOperator})
	m.change(func(c *hook.Change) error {
		now := c.Time()
		return c.Tx.Store.Create().SetID(m.id).SetName(slug).SetSlug(slug).SetURL("https://shop.example").
			SetCurrency("XAF").SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
	})
	return m
}

func (m merchant) change(fn func(c *hook.Change) error) {
	m.t.Helper()
	require.NoError(m.t, hook.Run(m.ctx, m.DB, fn))
}

// newWebhook registers for types of events, by default order.paid.
func (m merchant) newWebhook(types ...string) uuid.UUID {
	m.t.Helper()
	if len(types) == 0 {
		types = []string{hook.OrderPaid}
	}
	made, secret := uuid.New(), signature.NewSecret()
	m.secrets[made] = secret
	sealed, key := m.ring.Seal(secret, made[:])
	m.change(func(c *hook.Change) error {
		now := c.Time()
		return c.Tx.Webhook.Create().SetID(made).SetStoreID(m.id).SetURL(m.receiver.URL + "/" + made.String()).
			SetEvents(types).SetSecret(sealed).SetSecretKey(key).SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
	})
	return made
}

func (m merchant) edit(webhook uuid.UUID, change func(*ent.WebhookUpdateOne)) {
	m.t.Helper()
	m.change(func(c *hook.Change) error {
		row, err := c.Tx.Webhook.Get(c, webhook)
		if err != nil {
			return err
		}
		if err := c.MarkLocked(row); err != nil {
			return err
		}
		u := row.Update()
		change(u)
		return u.Exec(c)
	})
}

// emit writes n events with their deliveries, and notifies the workers.
func (m merchant) emit(kind string, n int) []uuid.UUID {
	m.t.Helper()
	made := make([]uuid.UUID, n)
	events := make([]fanout.Event, n)
	for i := range made {
		made[i] = id.At(m.Now())
		events[i] = fanout.Event{ID: made[i], Type: kind}
	}
	m.change(func(c *hook.Change) error {
		for some := range slices.Chunk(made, 1000) {
			rows := make([]*ent.EventCreate, len(some))
			for i, event := range some {
				rows[i] = c.Tx.Event.Create().SetID(event).SetStoreID(m.id).SetType(kind).SetPayload([]byte(`{"amount": 5000 }`)).SetCreatedAt(m.Now())
			}
			if err := c.Tx.Event.CreateBulk(rows...).Exec(c); err != nil {
				return err
			}
		}
		_, err := fanout.Write(c, m.DB, c.Tx, c.Time(), m.id, events)
		return err
	})
	m.Announce()
	return made
}

// enqueue puts a delivery straight into the queue, as a ping or a resend does.
func (m merchant) enqueue(webhook uuid.UUID, kind string) uuid.UUID {
	m.t.Helper()
	event := id.At(m.Now())
	m.change(func(c *hook.Change) error {
		if err := c.Tx.Event.Create().SetID(event).SetStoreID(m.id).SetType(kind).SetPayload([]byte("{}")).SetCreatedAt(m.Now()).Exec(
			c); err != nil {
			return err
		}
		_, err := fanout.Add(c, m.DB, c.Tx, c.Time(), []fanout.Delivery{{
			ID: id.At(m.Now()), StoreID: m.id, WebhookID: webhook, EventID: event, EventType: kind, Epoch: m.webhook(webhook).Epoch,
		}})
		return err
	})
	return event
}

func (in *installation) config() Config {
	return Config{
		DB: in.DB, Secrets: in.ring, Concurrency: 32, Timeout: hangGuard,
		Targets: egress.Policy{AllowPrivate: true}, RootCAs: in.receiver.roots(in.t),
	}
}

// worker returns a worker whose steps the test calls.
func (in *installation) worker(change ...func(*Config)) *stepped {
	in.t.Helper()
	c := in.config()
	for _, f := range change {
		f(&c)
	}
	w, err := New(context.Background(), c)
	require.NoError(in.t, err)
	s := &stepped{Worker: w, t: in.t}
	s.dispatcher = &dispatcher{Worker: w, attemptCtx: context.Background()}
	return s
}

// stepped is a worker without a goroutine of its own.
type stepped struct {
	*Worker
	t          require.TestingT
	dispatcher *dispatcher
	// writing and written, if set, are called before and after each batch is written.
	writing, written func([]endedLease)
}

// begin returns how many attempts it started.
func (s *stepped) begin() int {
	before := s.lanes.inFlight
	s.dispatcher.findingDue = true
	due, err := s.queue.AllDue(s.dispatcher.attemptCtx)
	require.NoError(s.t, err)
	s.dispatcher.found(due)
	require.NoError(s.t, s.dispatcher.step(s.dispatcher.attemptCtx))
	return s.lanes.inFlight - before
}

// finish waits for all running attempts and writes their results.
func (s *stepped) finish() {
	for s.lanes.inFlight > 0 {
		batch := []endedLease{s.one()}
		for len(batch) < s.lanes.inFlight {
			batch = append(batch, s.one())
		}
		if s.writing != nil {
			s.writing(batch)
		}
		require.NoError(s.t, s.writeOnce(context.Background(), batch))
		s.dispatcher.end(batch)
		if s.written != nil {
			s.written(batch)
		}
	}
}

// one returns the result of the next attempt that ends.
func (s *stepped) one() endedLease {
	select {
	case r := <-s.results:
		return r
	case <-time.After(hangGuard):
		require.FailNow(s.t, "an attempt does not end")
		return endedLease{}
	}
}

// pass makes attempts until nothing more is due, and returns how many.
func (s *stepped) pass() int {
	ended := 0
	// claiming is true even if a step got nothing of a lane: the webhook's other lane may have some, or a disabled webhook's
	// deliveries stay due. So end after three idle steps in a row.
	for idle := 0; idle < 3; idle++ {
		begun := s.begin()
		ended += begun
		if begun == 0 && !s.dispatcher.claiming {
			break
		}
		if begun > 0 {
			idle = 0
		}
		s.finish()
	}
	s.cancelAll()
	return ended
}

func (s *stepped) cancelAll() { require.NoError(s.t, s.cancel(context.Background())) }

// die abandons the running attempts, as a killed worker does. Their requests still arrive.
func (s *stepped) die() {
	for range s.lanes.inFlight {
		s.one()
	}
	s.client.Close()
}

func (in *installation) journal(webhook, event uuid.UUID) (status string, attempts []queue.Attempt) {
	in.t.Helper()
	rows := dbtest.FinishedDeliveries(in.t, in.DB, "webhook_id = $1 AND event_id = $2", webhook, event)
	if len(rows) == 0 {
		return "", nil
	}
	require.Len(in.t, rows, 1, "deliveries of the event to the webhook in the journal")
	return rows[0].Status, attemptsOf(in.t, rows[0].Attempts)
}

func attemptsOf(t testing.TB, column []byte) []queue.Attempt {
	t.Helper()
	attempts, err := queue.Attempts(column)
	require.NoError(t, err)
	return attempts
}

func (in *installation) delivery() dbtest.Delivery {
	in.t.Helper()
	all := dbtest.Deliveries(in.t, in.DB, "true")
	require.Len(in.t, all, 1, "deliveries that wait or are attempted; those that have ended are in the journal")
	return all[0]
}

func (in *installation) exec(statement string, args ...any) {
	in.t.Helper()
	_, err := in.Writer().Exec(statement, args...)
	require.NoError(in.t, err)
}
