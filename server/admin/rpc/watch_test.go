package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
)

type watcher struct {
	*testing.T
	events   chan *adminv1.Event
	position string // the position in the stream's last answer; empty before it
	ended    chan error
	stop     context.CancelFunc
}

var errEnough = errors.New("enough")

func (b *bench) watch(in *adminv1.WatchEventsRequest) *watcher {
	b.Helper()
	client, err := rpc.NewClient(b.url, token)
	require.NoError(b, err)
	ctx, stop := context.WithCancel(b.Context())
	b.Cleanup(stop)
	w := &watcher{T: b.T, events: make(chan *adminv1.Event, 5000), ended: make(chan error, 1), stop: stop}
	open := make(chan struct{})
	go func() {
		w.ended <- client.Watch(ctx, in, func(answer *adminv1.WatchEventsResponse) error {
			if w.position == "" {
				require.Empty(b, answer.GetEvents(), "the first answer shows that the stream is open")
				close(open)
			}
			w.position = answer.GetPosition()
			for _, e := range answer.GetEvents() {
				w.events <- e
			}
			return nil
		})
	}()
	select {
	case <-open:
	case err := <-w.ended:
		w.ended <- err
	}
	return w
}

// next fails the test if the stream ends, or no event arrives within a minute.
func (w *watcher) next() *adminv1.Event {
	w.Helper()
	select {
	case e := <-w.events:
		return e
	case err := <-w.ended:
		require.FailNow(w, "the stream ended", "%v", err)
	case <-time.After(time.Minute):
		require.FailNow(w, "no event arrives")
	}
	return nil
}

// end closes the stream and returns the position from which another can continue.
func (w *watcher) end() string {
	w.Helper()
	w.stop()
	<-w.ended
	require.Empty(w, w.events, "nothing else was sent")
	return w.position
}

func (b *bench) ping() string {
	b.Helper()
	made, err := b.operator.CreatePing(b.Context(), &adminv1.CreatePingRequest{Store: "s"})
	require.NoError(b, err)
	return made.GetId()
}

func TestWatchEvents(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, database, db.Config{})
			b.ping()
			all, some := b.watch(&adminv1.WatchEventsRequest{Store: "s"}), b.watch(&adminv1.WatchEventsRequest{Store: "s",
				Types: []string{hook.CustomerCreated}})
			product, err := b.operator.CreateProduct(t.Context(), &adminv1.CreateProductRequest{
				Store: "s", Title: "T", Type: storefrontv1.Product_FILE, PriceAmount: new(int64(5)), Description: new("<p>d</p>"),
				ContentReady: new(true),
				Status:       storefrontv1.Product_PUBLISHED.Enum(),
			})
			require.NoError(t, err)
			customer, err := b.operator.CreateCustomer(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.CreateCustomerRequest{
				Email: new("a@example.com")})
			require.NoError(t, err)
			ping := b.ping()
			var data struct{ Data struct{ ID string } }
			published, created := all.next(), all.next()
			require.Equal(t, hook.ProductPublished, published.GetType())
			require.NoError(t, json.Unmarshal([]byte(published.GetPayload()), &data))
			require.Equal(t, product.GetId(), data.Data.ID)
			require.Equal(t, hook.CustomerCreated, created.GetType())
			require.Equal(t, ping, all.next().GetId())
			require.Contains(t, created.GetPayload(), customer.GetId())
			late := b.event(5 * time.Second)
			require.Equal(t, late, all.next().GetId(), "of two transactions, the one that got its time first may be seen last")
			kept, err := b.operator.GetEvent(t.Context(), &adminv1.GetEventRequest{Id: created.GetId()})
			require.NoError(t, err)
			require.Equal(t, kept.GetPayload(), some.next().GetPayload(), "as it is kept")
			some.end()

			position := all.end()
			missed := b.ping()
			again := b.watch(&adminv1.WatchEventsRequest{Store: "s", Since: position})
			require.Equal(t, missed, again.next().GetId(), "nothing is sent again")
			ahead := b.event(-10 * time.Minute) // an event of a server whose clock is ahead
			require.Equal(t, ahead, again.next().GetId())
			next := b.ping()
			require.Equal(t, next, again.next().GetId(), "after one from the future")
			again.end()
		})
	}
}

// event stores an event as if its transaction had committed ago late; negative means in the future.
func (b *bench) event(ago time.Duration) string {
	b.Helper()
	at := b.db.Now().Add(-ago)
	eventID := id.At(at)
	ctx, err := b.operator.WithStore(b.Context(), "s")
	require.NoError(b, err)
	t, _, _ := tenant.From(ctx)
	require.NoError(b, hook.Run(ctx, b.db, func(c *hook.Change) error {
		return c.Tx.Event.Create().SetID(eventID).SetStoreID(t.ID).SetType(hook.Ping).SetCreatedAt(at).
			SetPayload(hook.PingEnvelope(eventID, at, t.ID, t.Slug, "late")).Exec(c)
	}))
	return eventID.String()
}

// The database's clock is set back and ahead while a stream is open, and while none is. No event is missed or sent again.
func TestAWatchFollowsThePositionAndNotTheClock(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			clock := shoptest.NewClock()
			b := newBench(t, database, db.Config{Clock: clock.Now})
			position, missed := "", ""
			for _, leap := range []time.Duration{-time.Hour, 2 * time.Hour, -30 * time.Hour, time.Hour} {
				w := b.watch(&adminv1.WatchEventsRequest{Store: "s", Since: position})
				if position != "" {
					require.Equal(t, missed, w.next().GetId())
				}
				for _, by := range []time.Duration{time.Second, leap, time.Minute} {
					clock.Advance(by)
					require.Equal(t, b.ping(), w.next().GetId(), "after %s", by)
				}
				position = w.end()
				clock.Advance(leap)
				missed = b.ping()
			}
			codeOfSince := func(since string) apierr.Code {
				client, err := rpc.NewClient(b.url, token)
				require.NoError(t, err)
				return codeOf(client.Watch(t.Context(), &adminv1.WatchEventsRequest{Store: "s", Since: since},
					func(*adminv1.WatchEventsResponse) error { return errEnough }))
			}
			for _, wrong := range []string{"x", "1", "1.x", "1.1:2", "1.1:2:x", "1./", position + "x", "99999999999999999999."} {
				require.Equal(t, apierr.ValidationFailed, codeOfSince(wrong), wrong)
			}
		})
	}
}

// On PostgreSQL two transactions with an event each are open at once. The one that began first is committed last, after a
// stream has sent the other's event, and its event is sent too. A server that has not read the database's clock since a leap
// commits both.
func TestAWatchSendsALateCommitAfterALeap(t *testing.T) {
	t.Parallel()
	address, leap := dbtest.LeapingURL(t)
	b := newBenchOn(t, dbtest.Leaping(t, address))
	w := b.watch(&adminv1.WatchEventsRequest{Store: "s"})
	for _, by := range []time.Duration{-time.Hour, 25 * time.Hour} {
		leap(by)
		fresh := dbtest.Leaping(t, address)
		var late string
		ctx, err := b.operator.WithStore(t.Context(), "s")
		require.NoError(t, err)
		own, _, _ := tenant.From(ctx)
		require.NoError(t, hook.Run(ctx, b.db, func(c *hook.Change) error {
			at := b.db.Now()
			eventID := id.At(at)
			late = eventID.String()
			if err := c.Tx.Event.Create().SetID(eventID).SetStoreID(own.ID).SetType(hook.Ping).SetCreatedAt(at).SetPayload([]byte(`{}`)).
				Exec(c); err != nil {
				return err
			}
			made, err := admin.New(fresh, admin.Options{}).CreatePing(t.Context(), &adminv1.CreatePingRequest{Store: "s"})
			if err != nil {
				return err
			}
			require.Equal(t, made.GetId(), w.next().GetId())
			return nil
		}))
		require.Equal(t, late, w.next().GetId())
	}
	w.end()
}

// A stream from an old position sends each of many events once.
func TestAWatchReadsABacklog(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	position, start := b.watch(&adminv1.WatchEventsRequest{Store: "s"}).end(), b.db.Now()
	const count = 2100
	ctx, err := b.operator.WithStore(t.Context(), "s")
	require.NoError(t, err)
	own, _, _ := tenant.From(ctx)
	require.NoError(t, hook.Run(ctx, b.db, func(c *hook.Change) error {
		made := make([]*ent.EventCreate, count)
		for i := range made {
			at := start.Add(time.Duration(i/50) * time.Millisecond)
			made[i] = c.Tx.Event.Create().SetID(id.At(at)).SetStoreID(own.ID).SetType(hook.Ping).SetCreatedAt(at).SetPayload([]byte(`{}`))
		}
		return c.Tx.Event.CreateBulk(made...).Exec(c)
	}))
	w := b.watch(&adminv1.WatchEventsRequest{Store: "s", Since: position})
	seen := map[string]bool{}
	for range count {
		seen[w.next().GetId()] = true
	}
	require.Len(t, seen, count)
	require.Equal(t, b.ping(), w.next().GetId(), "nothing is sent again")
	w.end()
}

func TestWatchesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	client, err := rpc.NewClient(b.url, token)
	require.NoError(t, err)
	open := func(in *adminv1.WatchEventsRequest) error {
		err := client.Watch(t.Context(), in, func(*adminv1.WatchEventsResponse) error { return errEnough })
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	}
	var watchers []*watcher
	for range admin.MaxStoreWatches {
		watchers = append(watchers, b.watch(&adminv1.WatchEventsRequest{Store: "s"}))
	}
	require.Equal(t, apierr.Unavailable, codeOf(open(&adminv1.WatchEventsRequest{Store: "s"})))
	for i := range admin.MaxWatches/admin.MaxStoreWatches - 1 {
		slug := fmt.Sprintf("s%d", i)
		_, err := b.operator.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: slug, Currency: "XAF",
			Country: "CM"})
		require.NoError(t, err)
		for range admin.MaxStoreWatches {
			watchers = append(watchers, b.watch(&adminv1.WatchEventsRequest{Store: slug}))
		}
	}
	_, err = b.operator.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "last", Currency: "XAF",
		Country: "CM"})
	require.NoError(t, err)
	require.Equal(t, apierr.Unavailable, codeOf(open(&adminv1.WatchEventsRequest{Store: "last"})))
	for _, w := range watchers {
		w.end()
	}
	require.Eventually(t, func() bool { return open(&adminv1.WatchEventsRequest{Store: "s"}) == nil }, time.Minute,
		20*time.Millisecond, "a slot is given back")

	require.Equal(t, apierr.StoreNotFound, codeOf(open(&adminv1.WatchEventsRequest{Store: uuid.NewString()})))
	require.Equal(t, apierr.ValidationFailed, codeOf(open(&adminv1.WatchEventsRequest{Store: "s", Types: []string{"order.lost"}})))
}
