package queue_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

// handClock advances by step at each reading. Goroutines may share it.
type handClock struct {
	milliseconds atomic.Int64
	step         time.Duration
}

var noon = time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)

func newHandClock(step time.Duration) *handClock {
	c := &handClock{step: step}
	c.milliseconds.Store(noon.UnixMilli())
	return c
}

func (c *handClock) now() time.Time { return c.advance(c.step) }

func (c *handClock) advance(d time.Duration) time.Time {
	return time.UnixMilli(c.milliseconds.Add(d.Milliseconds())).UTC()
}

// outlet is a store with one webhook, which subscribes to all events of orders.
type outlet struct {
	*db.DB
	t       *testing.T
	ctx     context.Context
	owner   uuid.UUID
	webhook uuid.UUID
}

func newOutlet(t *testing.T, d *db.DB, slug string) outlet {
	t.Helper()
	o := outlet{DB: d, t: t, owner: uuid.New()}
	o.ctx = tenant.With(t.Context(), tenant.Store{ID: o.owner, Slug: slug, Currency: "XAF"},
		tenant.Actor{Type: tenant.ActorOperator})
	o.change(func(c *hook.Change) error {
		now := c.Time()
		return c.Tx.Store.Create().SetID(o.owner).SetName(slug).SetSlug(slug).SetURL("https://shop.example").
			SetCurrency("XAF").SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
	})
	o.webhook = o.newWebhook()
	return o
}

func (o outlet) change(fn func(c *hook.Change) error) {
	o.t.Helper()
	require.NoError(o.t, hook.Run(o.ctx, o.DB, fn))
}

func (o outlet) newWebhook() uuid.UUID {
	o.t.Helper()
	made := uuid.New()
	o.change(func(c *hook.Change) error {
		now := c.Time()
		return c.Tx.Webhook.Create().SetID(made).SetStoreID(o.owner).SetURL("https://receiver.example").
			SetEvents([]string{hook.OrderPaid, hook.OrderFailed}).SetSecret([]byte("sealed")).SetSecretKey("key").
			SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
	})
	return made
}

func (o outlet) event(kind string, at time.Time) uuid.UUID {
	o.t.Helper()
	made := id.At(at)
	o.change(func(c *hook.Change) error {
		return c.Tx.Event.Create().SetID(made).SetStoreID(o.owner).SetType(kind).SetPayload([]byte("{}")).SetCreatedAt(at).Exec(c)
	})
	return made
}

// events writes n events order.paid without deliveries, from the time from on, a millisecond apart.
func (o outlet) events(n int, from time.Time) {
	o.t.Helper()
	o.change(func(c *hook.Change) error {
		many := make([]*ent.EventCreate, n)
		for i := range many {
			at := from.Add(time.Duration(i) * time.Millisecond)
			many[i] = c.Tx.Event.Create().SetID(id.At(at)).SetStoreID(o.owner).SetType(hook.OrderPaid).SetPayload([]byte("{}")).SetCreatedAt(
				at)
		}
		return c.Tx.Event.CreateBulk(many...).Exec(c)
	})
}

// draft returns a delivery for o.add, with the webhook's current epoch.
func (o outlet) draft(webhook, event uuid.UUID) fanout.Delivery {
	epoch := int64(1)
	for row := range db.Rows(o.ctx, o.Reader(), "SELECT epoch FROM webhooks WHERE id = $1", webhook) {
		require.NoError(o.t, row.Scan(&epoch))
	}
	return fanout.Delivery{ID: id.At(o.Now()), StoreID: o.owner, WebhookID: webhook, EventID: event, EventType: hook.OrderPaid,
		Epoch: epoch}
}

func (o outlet) add(drafts ...fanout.Delivery) {
	o.t.Helper()
	o.change(func(c *hook.Change) error { return enqueue(c, drafts) })
}

// ended writes d into the delivery journal as made and finished now.
func (o outlet) ended(d fanout.Delivery, status string) {
	o.t.Helper()
	o.endedAt(o.Now(), d, status)
}

// endedAt writes d into the delivery journal as made and finished at the time at.
func (o outlet) endedAt(at time.Time, d fanout.Delivery, status string) {
	o.t.Helper()
	o.exec("INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, "+
		"finished_at)"+
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)", d.ID, d.StoreID, d.WebhookID, d.EventID, d.EventType, status, []byte("[]"), at)
}

func (o outlet) row(id uuid.UUID) dbtest.Delivery {
	o.t.Helper()
	all := dbtest.Deliveries(o.t, o.DB, "id = $1", id)
	require.Len(o.t, all, 1)
	return all[0]
}

func (o outlet) live(webhook uuid.UUID) map[uuid.UUID]int {
	o.t.Helper()
	found := map[uuid.UUID]int{}
	for _, d := range dbtest.Deliveries(o.t, o.DB, "webhook_id = $1", webhook) {
		found[d.EventID]++
	}
	return found
}

const lease = 12 * time.Second

func (o outlet) edit(webhook uuid.UUID, change func(*ent.WebhookUpdateOne)) {
	o.t.Helper()
	o.change(func(c *hook.Change) error {
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

func (o outlet) exec(statement string, args ...any) {
	o.t.Helper()
	_, err := o.Writer().Exec(statement, args...)
	require.NoError(o.t, err)
}

func (o outlet) emit(kind string) uuid.UUID {
	o.t.Helper()
	event := id.At(o.Now())
	o.change(func(c *hook.Change) error { return emit(c, o.owner, event, kind) })
	q := queue.New(o.DB)
	_, err := q.Relay(o.ctx)
	require.NoError(o.t, err)
	require.NoError(o.t, q.DropRelayed(o.ctx))
	return event
}

func emit(c *hook.Change, store, event uuid.UUID, kind string) error {
	if err := c.Tx.Event.Create().SetID(event).SetStoreID(store).SetType(kind).SetPayload([]byte("{}")).SetCreatedAt(id.Time(event)).
		Exec(c); err != nil {
		return err
	}
	_, err := fanout.Write(c, c.DB, c.Tx, c.Time(), store, []fanout.Event{{ID: event, Type: kind}})
	return err
}

func enqueue(c *hook.Change, deliveries []fanout.Delivery) error {
	_, err := fanout.Add(c, c.DB, c.Tx, c.Time(), deliveries)
	return err
}

// All deliveries of an event that a claim returns share one copy of its payload.
func TestAnEventIsHeldOnce(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, _ *handClock) {
		o := newOutlet(t, s, "atelier")
		requests := []queue.ClaimRequest{{Lane: o.lane(o.webhook, false), Max: 2}}
		for range 4 {
			requests = append(requests, queue.ClaimRequest{Lane: o.lane(o.newWebhook(), false), Max: 2})
		}
		first, second := o.emit(hook.OrderPaid), o.emit(hook.OrderPaid)
		held := map[uuid.UUID]map[*byte]bool{first: {}, second: {}}
		claimed := o.claim(queue.New(s), requests...)
		require.Len(t, claimed, 10)
		for _, d := range claimed {
			held[d.EventID][&d.Payload[0]] = true
		}
		require.Len(t, held[first], 1)
		require.Len(t, held[second], 1)
	})
}

func TestAddedDeliveriesAreDueAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		o := newOutlet(t, s, "atelier")
		o.add()
		require.Zero(t, dbtest.Count(t, s, "deliveries"), "no delivery is none")
		drafts := []fanout.Delivery{o.draft(o.webhook, uuid.New()), o.draft(o.webhook, uuid.New())}
		before := s.Now()
		o.add(drafts...)
		rows := dbtest.Deliveries(t, s, "true")
		require.Len(t, rows, 2)
		for _, row := range rows {
			d := drafts[0]
			if row.ID != d.ID {
				d = drafts[1]
			}
			require.Equal(t, d, fanout.Delivery{ID: row.ID, StoreID: row.StoreID, WebhookID: row.WebhookID, EventID: row.EventID,
				EventType: row.EventType, Epoch: 1})
			require.Equal(t, "[]", string(row.Attempts))
			require.False(t, row.Retry)
			require.Nil(t, row.Lease)
			require.False(t, row.CreatedAt.Before(before))
			var due bool
			moment := "now()"
			if s.Dialect() == dialect.SQLite {
				moment = fmt.Sprint(s.Now().UnixMilli())
			}
			require.NoError(t, s.Reader().QueryRow("SELECT due_at <= "+moment+" FROM deliveries WHERE id = $1", row.ID).Scan(&due))
			require.True(t, due, "a worker takes it now")
		}
	})
}
