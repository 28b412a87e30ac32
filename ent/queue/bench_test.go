package queue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

// loaded is a database with much to do for one webhook.
type loaded struct {
	*db.DB
	b     *testing.B
	q     *queue.Queue
	lane  queue.Lane
	event uuid.UUID
}

// forEachLoaded runs f on a loaded database of each kind and for batches of some sizes.
func forEachLoaded(b *testing.B, f func(b *testing.B, l *loaded, size int)) {
	for _, name := range dbtest.Databases() {
		for _, size := range []int{1, 50} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				s := dbtest.New(b, name, db.Config{Settings: queue.Settings()})
				l := &loaded{DB: s, b: b, q: queue.On(s), event: id.At(s.Now())}
				l.lane = queue.Lane{StoreID: uuid.New(), WebhookID: uuid.New()}
				ctx := tenant.With(b.Context(), tenant.Store{ID: l.lane.StoreID, Slug: "atelier"}, tenant.Actor{Type: tenant.ActorOperator})
				require.NoError(b, s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
					now := hook.Time(ctx)
					if err := tx.Store.Create().SetID(l.lane.StoreID).SetName("x").SetSlug("atelier").SetURL("https://shop.example").
						SetCurrency("XAF").SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(ctx); err != nil {
						return err
					}
					if err := tx.Event.Create().SetID(l.event).SetStoreID(l.lane.StoreID).SetType(hook.OrderPaid).
						SetPayload(make([]byte, 760)).SetCreatedAt(now).Exec(ctx); err != nil {
						return err
					}
					return tx.Webhook.Create().SetID(l.lane.WebhookID).SetStoreID(l.lane.StoreID).SetURL("https://receiver.example").
						SetEvents([]string{hook.OrderPaid}).SetSecret([]byte("sealed")).SetSecretKey("key").SetCreatedAt(now).SetUpdatedAt(
						now).Exec(ctx)
				}))
				f(b, l, size)
			})
		}
	}
}

// drafts puts deliveries into the queue.
func (l *loaded) drafts(n int) {
	require.NoError(l.b, l.WithTx(l.b.Context(), func(ctx context.Context, tx *ent.Tx) error {
		many := make([]queue.NewDelivery, n)
		for i := range many {
			many[i] = queue.NewDelivery{
				Epoch: 1,
				ID:    id.At(hook.Time(ctx)), StoreID: l.lane.StoreID, WebhookID: l.lane.WebhookID, EventID: l.event,
				EventType: hook.OrderPaid,
			}
		}
		return queue.Add(ctx, tx, l.DB, many)
	}))
}

func (l *loaded) claim(n int) []queue.Delivery {
	got, err := l.q.Claim(l.b.Context(), []queue.Want{{Lane: l.lane, Max: n}}, time.Hour)
	require.NoError(l.b, err)
	require.Len(l.b, got, n)
	return got
}

// rows reports the time of one row.
func rows(b *testing.B, size int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/delivery")
}

func BenchmarkQueueClaim(b *testing.B) {
	forEachLoaded(b, func(b *testing.B, l *loaded, size int) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			l.drafts(size)
			b.StartTimer()
			l.claim(size)
		}
		rows(b, size)
	})
}

func BenchmarkQueueFinish(b *testing.B) {
	forEachLoaded(b, func(b *testing.B, l *loaded, size int) {
		b.ReportAllocs()
		outcomes := make([]queue.Outcome, size)
		attempt := queue.Attempt{Number: 1, StartedAt: l.Now(), Duration: time.Millisecond, StatusCode: 200}
		for b.Loop() {
			b.StopTimer()
			l.drafts(size)
			for i, d := range l.claim(size) {
				outcomes[i] = queue.Outcome{Delivery: d, Attempt: &attempt, Status: queue.Succeeded, Counts: true}
			}
			b.StartTimer()
			lost, err := l.q.Finish(b.Context(), outcomes)
			require.NoError(b, err)
			require.Zero(b, lost)
		}
		rows(b, size)
	})
}

func BenchmarkQueueRelay(b *testing.B) {
	forEachLoaded(b, func(b *testing.B, l *loaded, size int) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			for range size {
				_, err := l.Writer().Exec(intoOutbox, l.event, l.lane.StoreID, hook.OrderPaid)
				require.NoError(b, err)
			}
			b.StartTimer()
			done, err := l.q.Relay(b.Context(), size, time.Hour, everyLane)
			require.NoError(b, err)
			require.Len(b, done.Leased, size)
		}
		rows(b, size)
	})
}
