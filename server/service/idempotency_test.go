package service_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/wire"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// handClock is a clock that is moved by hand.
type handClock struct{ atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.Store(time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *handClock) now() time.Time { return time.UnixMilli(c.Load()).UTC() }

func (c *handClock) advance(d time.Duration) { c.Add(d.Milliseconds()) }

func TestTheSameKeyGivesTheSameAnswer(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			clock := newHandClock()
			b := newBench(t, dbtest.New(t, database, db.Config{Clock: clock.now}), service.Options{})
			p := b.product("Guide", 1000)
			key := func(k string) context.Context { return service.WithIdempotencyKey(b.ctx, k) }
			draft := func(quantity int32) service.OrderDraft {
				return service.OrderDraft{
					Buyer: service.Buyer{Email: ptr("a@example.com")}, Lines: []service.OrderLine{{ProductID: p.GetId(), Quantity: quantity}},
				}
			}
			first, err := b.RecordOrder(key("checkout-1"), draft(1))
			require.NoError(t, err)
			paid, err := b.PayOrder(key("checkout-1"), first.GetId())
			require.NoError(t, err, "a key belongs to one operation")
			require.Equal(t, storefrontv1.Order_PAID, paid.GetStatus())
			_, err = b.RefundOrder(b.ctx, first.GetId())
			require.NoError(t, err)
			entries, events := len(b.journal()), len(b.events())

			clock.advance(service.IdempotencyWindow - time.Millisecond)
			again, err := b.RecordOrder(key("checkout-1"), draft(1))
			require.NoError(t, err)
			require.Equal(t, string(wire.Marshal(first)), string(wire.Marshal(again)), "byte for byte, though the order has changed since")
			again, err = b.PayOrder(key("checkout-1"), strings.ToUpper(first.GetId()))
			require.NoError(t, err, "although a REFUNDED order cannot be paid")
			require.Equal(t, string(wire.Marshal(paid)), string(wire.Marshal(again)))
			require.Len(t, b.journal(), entries, "nothing is changed")
			require.Len(t, b.events(), events, "nothing is sent")

			_, err = b.RecordOrder(key("checkout-1"), draft(2))
			refused(t, err, apierr.IdempotencyKeyReused)
			other := b.buy("b@example.com", p.GetId(), "")
			_, err = b.PayOrder(key("checkout-1"), other.GetId())
			refused(t, err, apierr.IdempotencyKeyReused)

			// Another store has keys of its own.
			elsewhere := b.newStore("elsewhere")
			_, err = b.RecordOrder(service.WithIdempotencyKey(elsewhere, "checkout-1"), draft(1))
			refused(t, err, apierr.ProductNotFound)

			clock.advance(time.Millisecond)
			anew, err := b.RecordOrder(key("checkout-1"), draft(2))
			require.NoError(t, err, "after a day the key is forgotten")
			require.NotEqual(t, first.GetId(), anew.GetId())
		})
	}
}

func TestWhatWasRefusedIsNotRemembered(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, service.Options{})
		p := b.product("Guide", 1000)
		o := b.buy("a@example.com", p.GetId(), "")
		key := service.WithIdempotencyKey(b.ctx, "k")
		_, err := b.RefundOrder(key, o.GetId())
		refused(t, err, apierr.OrderTransition)
		_, err = b.PayOrder(b.ctx, o.GetId())
		require.NoError(t, err)
		o, err = b.RefundOrder(key, o.GetId())
		require.NoError(t, err)
		require.Equal(t, storefrontv1.Order_REFUNDED, o.GetStatus())

		for name, bad := range map[string]string{
			"too long":            strings.Repeat("é", service.MaxIdempotencyKeyRunes+1),
			"a control character": "a\nb",
			"no Unicode":          "\xff",
		} {
			_, err := b.PayOrder(service.WithIdempotencyKey(b.ctx, bad), o.GetId())
			r := refused(t, err, apierr.ValidationFailed)
			require.Equal(t, "idempotencyKey", r.Details.GetFields()[0].GetField(), name)
		}
		long := service.WithIdempotencyKey(b.ctx, strings.Repeat("é", service.MaxIdempotencyKeyRunes))
		_, err = b.RefundOrder(long, o.GetId())
		require.NoError(t, err)
	})
}

// What makes a secret is done once under a key, and its secret is in one answer.
func TestSecretIsMadeOnceUnderAKey(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			clock := newHandClock()
			b := newBench(t, dbtest.New(t, database, db.Config{Clock: clock.now}), sealing(t))
			hook := b.hook()
			for name, do := range map[string]func(ctx context.Context) error{
				"a key": func(ctx context.Context) error {
					_, err := b.CreateKey(ctx, service.KeyDraft{Name: "crm", Scopes: []string{"store:read"}, Lifetime: adminv1.Key_DAYS_30})
					return err
				},
				"a webhook": func(ctx context.Context) error {
					_, err := b.CreateWebhook(ctx, service.WebhookDraft{URL: "https://shop.example.com/hooks"})
					return err
				},
				"a secret": func(ctx context.Context) error {
					_, err := b.RotateSecret(ctx, hook.ID.String())
					return err
				},
			} {
				key := service.WithIdempotencyKey(b.ctx, "form-1")
				entries := len(b.journal())
				require.NoError(t, do(key), name)
				clock.advance(service.IdempotencyWindow - time.Millisecond)
				refused(t, do(key), apierr.IdempotencyKeyReused)
				require.Len(t, b.journal(), entries+1, name)
				clock.advance(time.Millisecond)
				require.NoError(t, do(key), "%s: after a day the key is forgotten", name)
				require.Equal(t, apierr.ValidationFailed, refusalCode(do(service.WithIdempotencyKey(b.ctx, "a\nb"))), name)
				require.NoError(t, do(service.WithIdempotencyKey(b.ctx, "form-2")), name)
				require.NoError(t, do(b.ctx), name)
				require.Len(t, b.journal(), entries+4, name)
			}
		})
	}
}

// The limit refuses who is one too many, and not who asks again for the last one.
func TestAskingAgainIsNotRefusedForTheLimit(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, service.Options{})
		draft := service.KeyDraft{Name: "crm", Scopes: []string{"store:read"}, Lifetime: adminv1.Key_DAYS_30}
		for range service.MaxActiveKeys - 1 {
			_, err := b.CreateKey(b.ctx, draft)
			require.NoError(t, err)
		}
		tenth := service.WithIdempotencyKey(b.ctx, "form")
		_, err := b.CreateKey(tenth, draft)
		require.NoError(t, err)
		_, err = b.CreateKey(tenth, draft)
		refused(t, err, apierr.IdempotencyKeyReused)
		_, err = b.CreateKey(b.ctx, draft)
		refused(t, err, apierr.APIKeyLimit)
	})
}

// However many ask at once under one key, one of them does it and all have its answer.
func TestManyAtOnceUnderOneKey(t *testing.T) {
	t.Parallel()
	const askers = 50
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, service.Options{})
		l := b.link(ptr(int32(1)))
		ask := func(do func(ctx context.Context) (*storefrontv1.Order, error)) *storefrontv1.Order {
			t.Helper()
			answers := make([]*storefrontv1.Order, askers)
			var all errgroup.Group
			for i := range askers {
				all.Go(func() (err error) {
					answers[i], err = do(service.WithIdempotencyKey(b.ctx, "once"))
					return err
				})
			}
			require.NoError(t, all.Wait())
			for _, answer := range answers {
				require.Equal(t, string(wire.Marshal(answers[0])), string(wire.Marshal(answer)))
			}
			return answers[0]
		}
		o := ask(func(ctx context.Context) (*storefrontv1.Order, error) {
			return b.RecordOrder(ctx, service.OrderDraft{Buyer: service.Buyer{Email: ptr("a@example.com")}, PaymentLinkID: l.GetId()})
		})
		ask(func(ctx context.Context) (*storefrontv1.Order, error) { return b.PayOrder(ctx, o.GetId()) })
		orders, err := s.Client().Order.Query().Count(b.ctx)
		require.NoError(t, err)
		require.Equal(t, 1, orders)
		require.Equal(t, []string{"customer.created", "order.paid", "payment_link.paid"}, b.events())
		kept, err := s.Client().IdempotencyKey.Query().Count(b.ctx)
		require.NoError(t, err)
		require.Equal(t, 2, kept)
	})
}
