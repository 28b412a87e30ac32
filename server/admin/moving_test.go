package admin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

// before is the API of a place where something happens right before a step is taken.
type before map[string]func()

type interrupted struct {
	admin.API
	before before
}

func (i interrupted) SetMove(ctx context.Context, in *adminv1.SetMoveRequest) (*adminv1.Move, error) {
	if do := i.before[in.GetStep()]; do != nil {
		i.before[in.GetStep()] = nil
		do()
	}
	return i.API.SetMove(ctx, in)
}

// bench is a shop's, in the store as it is now.
func (p place) bench(t *testing.T, slug string) shoptest.Bench {
	b := shoptest.Bench{Shop: shop.New(p.db, shop.Options{}), DB: p.db, T: t}
	found, err := b.FindStore(t.Context(), slug)
	require.NoError(t, err)
	b.Ctx = shoptest.As(found)
	return b
}

func eachWay(t *testing.T, test func(t *testing.T, from, to place)) {
	dbtest.OnePostgres(t, "a store on Citus does not move")
	for _, way := range ways {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			test(t, newPlace(t, way[0]), newPlace(t, way[1]))
		})
	}
}

// What changes between the steps goes along, also where a row has no time of its change: counters of buyers and links, uses of
// one idempotency key for two operations, pings and resends.
func TestWhatHappensDuringAMoveGoesAlong(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, from, to place) {
		store := from.newStore(t, "atelier")
		b := from.bench(t, "atelier")
		var webhook uuid.UUID
		require.NoError(t, from.db.Reader().QueryRow("SELECT id FROM webhooks WHERE store_id = $1", store).Scan(&webhook))
		link := b.Link(nil)
		product := b.Product("P", 5)
		buy := func(key string) *storefrontv1.Order {
			order, err := b.RecordOrder(shop.WithIdempotencyKey(b.Ctx, key), shop.OrderDraft{Buyer: shop.Buyer{Email: new("a@example.com")},
				Lines: []shop.OrderLine{{ProductID: product.GetId(), Quantity: 1}}})
			require.NoError(t, err)
			return order
		}
		first, linked := buy("payment-17"), b.Buy("a@example.com", "", link.GetId())
		buy("payment-16")
		_, err := from.db.Writer().Exec("UPDATE idempotency_keys SET created_at = $1 WHERE key = 'payment-16'",
			time.Now().Add(-shop.IdempotencyWindow).UTC())
		require.NoError(t, err)
		var want map[string]string
		_, err = mover(interrupted{from, before{
			tenant.Draining: func() {
				buy("payment-16") // forgotten, and so used anew
				_, err := b.PayOrder(shop.WithIdempotencyKey(b.Ctx, "payment-17"), first.GetId())
				require.NoError(t, err)
				_, err = b.PayOrder(b.Ctx, linked.GetId())
				require.NoError(t, err)
				_, err = from.StartResend(t.Context(), &adminv1.StartResendRequest{WebhookId: webhook.String(),
					Since: timestamppb.New(time.Now().Add(-time.Hour))})
				require.NoError(t, err)
			},
			tenant.Frozen: func() {
				buy("payment-18")
				_, err := b.RefundOrder(b.Ctx, first.GetId())
				require.NoError(t, err)
				_, err = from.PingWebhook(t.Context(), &adminv1.PingWebhookRequest{Id: webhook.String()})
				require.NoError(t, err)
			},
			tenant.Moved: func() { want = from.rows(t, store) },
		}}, to, "atelier").Run(t.Context())
		require.NoError(t, err)
		got := to.rows(t, store)
		for key := range want {
			if strings.HasPrefix(key, "deliveries ") { // SQLite keeps due_at in milliseconds
				require.Contains(t, got, key)
				want[key] = got[key]
			}
		}
		require.Equal(t, want, got)
		b = to.bench(t, "atelier")
		require.Equal(t, first.GetId(), buy("payment-17").GetId(), "it is recorded once")
		require.Equal(t, 1, dbtest.Count(t, to.db, "customers WHERE orders_count = 5 AND total_paid = 500"))
	})
}

// listing is the API of a place where something happens right before a table is listed.
type listing struct {
	admin.API
	before func(table string)
}

func (l listing) ListRows(ctx context.Context, in *adminv1.ListRowsRequest) (*adminv1.ListRowsResponse, error) {
	l.before(in.GetTable())
	return l.API.ListRows(ctx, in)
}

// An order of a transaction that lasted for seconds, and that ended once the buyers were copied, waits for the next pass.
func TestAMoveCopiesWhatALongTransactionWrote(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, from, to place) {
		store := from.newStore(t, "atelier")
		b := from.bench(t, "atelier")
		product, late := b.Product("P", 5), ""
		_, err := mover(listing{from, func(table string) {
			if table == "orders" && late == "" {
				late = b.Buy("awa@example.com", product.GetId(), "").GetId()
				_, err := from.db.Writer().Exec("UPDATE orders SET created_at = $1 WHERE id = $2", time.Now().Add(-10*time.Second).UTC(), late)
				require.NoError(t, err)
			}
		}}, to, "atelier").Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, dbtest.Count(t, to.db, "orders WHERE store_id = $1", store))
	})
}

// A run that begins beside another takes over: what is acknowledged meanwhile is not lost. One that is taken back stays so.
func TestOfTwoRunsOfAMoveTheLastGoesOn(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, from, to place) {
		store := from.newStore(t, "atelier")
		b := from.bench(t, "atelier")
		product := b.Product("P", 5)
		_, err := mover(interrupted{from, before{tenant.Moved: func() {
			for _, step := range []string{tenant.Copying, tenant.Draining, tenant.Frozen} {
				if step == tenant.Draining {
					b.Buy("b@example.com", product.GetId(), "")
				}
				_, err := from.SetMove(t.Context(), &adminv1.SetMoveRequest{Store: "atelier", Step: step, Run: "another",
					Begin: step == tenant.Copying})
				require.NoError(t, err)
			}
		}}}, to, "atelier").Run(t.Context())
		require.ErrorContains(t, err, "another run of the move has begun or ended it")
		require.Equal(t, [2]string{tenant.Frozen, tenant.Arriving}, [2]string{from.step(t, "atelier"), to.step(t, "atelier")})
		_, err = mover(from, to, "atelier").Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, [2]string{tenant.Moved, ""}, [2]string{from.step(t, "atelier"), to.step(t, "atelier")})
		require.Equal(t, 1, dbtest.Count(t, to.db, "orders WHERE store_id = $1", store))

		from.newStore(t, "back")
		_, err = mover(interrupted{from, before{tenant.Frozen: func() {
			require.NoError(t, mover(from, to, "back").Abort(t.Context()))
		}}}, to, "back").Run(t.Context())
		require.ErrorContains(t, err, "another run of the move has begun or ended it")
		require.Empty(t, from.step(t, "back"))

		// The new place takes rows from the run that wrote the store's row last.
		from.newStore(t, "late")
		_, err = mover(interrupted{from, before{tenant.Draining: func() {
			_, err := to.WriteRows(t.Context(), &adminv1.WriteRowsRequest{Store: "late", Table: "events", Run: "another",
				Gone: []string{uuid.NewString()}})
			require.ErrorContains(t, err, "another run")
		}}}, to, "late").Run(t.Context())
		require.NoError(t, err)
	})
}

// A copy of a move that was taken back may have what was forgotten since: a new move does not build on it.
func TestAMoveDoesNotBringBackWhoWasForgotten(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, from, to place) {
		from.newStore(t, "atelier")
		b := from.bench(t, "atelier")
		buyer := b.Buy("awa@example.com", b.Product("P", 5).GetId(), "").GetCustomer().GetId()
		forget := func(p place) error {
			_, err := admin.Forget(t.Context(), p, buyer, func(*adminv1.Forgetting) {})
			return err
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := mover(interrupted{from, before{tenant.Draining: func() {
			require.ErrorContains(t, forget(from), "The store is moving")
			cancel()
		}}}, to, "atelier").Run(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Error(t, mover(from, killed{to, new(0)}, "atelier").Abort(t.Context()), "the new place does not answer")
		require.Equal(t, [2]string{"", tenant.Arriving}, [2]string{from.step(t, "atelier"), to.step(t, "atelier")})
		require.NoError(t, forget(from))
		_, err = mover(from, to, "atelier").Run(t.Context())
		require.ErrorContains(t, err, "storefront store delete atelier --now atelier")
		require.Empty(t, from.step(t, "atelier"))
	})
}

// A move does not take rows of another store that has their ids, as an import on trial has.
func TestAMoveLeavesOtherStoresTheirRows(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "a store on Citus does not move")
	from, to := newPlace(t, dbtest.Postgres), newPlace(t, dbtest.SQLite)
	from.newStore(t, "atelier")
	b := from.bench(t, "atelier")
	b.Buy("awa@example.com", b.Product("P", 5).GetId(), "")
	_, err := to.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "trial", Currency: "KWD", Country: "KW"})
	require.NoError(t, err)
	exportOf(t, from, "atelier").importInto(t, t.TempDir(), to, "trial", false)
	before := to.totals(t, "trial")
	_, err = mover(from, to, "atelier").Run(t.Context())
	require.ErrorContains(t, err, "are another store's here")
	require.Equal(t, before, to.totals(t, "trial"))
	require.Equal(t, [2]int64{1, 1}, before)
}

// The copy that stays takes no change, also while it waits to be deleted; but it is deleted, restored, and forgets.
func TestWhatAMovedStoreStillDoes(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, from, to place) {
		from.newStore(t, "atelier")
		b := from.bench(t, "atelier")
		order := b.Buy("awa@example.com", b.Product("P", 5).GetId(), "")
		_, err := mover(from, to, "atelier").Run(t.Context())
		require.NoError(t, err)
		refused := func() {
			_, err := from.PayOrder(t.Context(), &adminv1.PayOrderRequest{Id: order.GetId()})
			require.ErrorIs(t, err, hook.ErrMoving)
			require.Contains(t, apierr.FromError(err, func(error) bool { return false }).Message, "has moved to another installation")
		}
		refused()
		_, err = from.DeleteStore(t.Context(), &adminv1.DeleteStoreRequest{Store: "atelier"})
		require.NoError(t, err)
		refused()
		_, err = from.RestoreStore(t.Context(), &adminv1.RestoreStoreRequest{Store: "atelier"})
		require.NoError(t, err)
		refused()
		_, err = admin.Forget(t.Context(), from, order.GetCustomer().GetId(), func(*adminv1.Forgetting) {})
		require.NoError(t, err)
		require.Zero(t, dbtest.Count(t, from.db, "customers WHERE email = 'awa@example.com'"))
		require.Equal(t, 1, dbtest.Count(t, to.db, "customers WHERE email = 'awa@example.com'"))
		// There is no way back, but where the new place is lost.
		require.ErrorContains(t, mover(from, to, "atelier").Abort(t.Context()), "is open at the new place")
		require.ErrorContains(t, mover(from, killed{to, new(0)}, "atelier").Abort(t.Context()), "may be open at the new place")
		require.NoError(t, mover(from, nil, "atelier").Abort(t.Context()))
		require.Empty(t, from.step(t, "atelier"))
	})
}

// A move whose new place does not open the store is taken back, and then that cannot open it any more.
func TestAMoveIsTakenBackUntilTheStoreIsOpen(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, from, to place) {
		from.newStore(t, "atelier")
		ctx, cancel := context.WithCancel(t.Context())
		_, err := mover(from, interrupted{to, before{"": cancel}}, "atelier").Run(ctx)
		require.ErrorContains(t, err, "answers nowhere until this is run again")
		require.Equal(t, [2]string{tenant.Moved, tenant.Arriving}, [2]string{from.step(t, "atelier"), to.step(t, "atelier")})
		require.NoError(t, mover(from, to, "atelier").Abort(t.Context()))
		require.Empty(t, from.step(t, "atelier"))
		_, err = to.SetMove(t.Context(), &adminv1.SetMoveRequest{Store: "atelier"})
		require.ErrorContains(t, err, "it is to be deleted")
	})
}
