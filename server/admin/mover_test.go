package admin_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/move"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/webhooks"
)

// ways are those between the two kinds of database.
var ways = [][2]string{{dbtest.SQLite, dbtest.SQLite}, {dbtest.SQLite, dbtest.Postgres}, {dbtest.Postgres, dbtest.SQLite},
	{dbtest.Postgres, dbtest.Postgres}}

// place is an installation with a secret key of its own.
type place struct {
	*admin.Operator
	db   *db.DB
	ring *seal.Ring
}

func newPlace(t *testing.T, kind string) place {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	p := place{db: dbtest.New(t, kind, db.Config{}), ring: seal.NewRing(key)}
	p.Operator = admin.New(p.db, admin.Options{Webhooks: webhooks.Options{Secrets: p.ring}})
	return p
}

const there = "https://operator.new.example"

func mover(from, to admin.API, store string) *admin.Mover {
	return &admin.Mover{From: from, To: to, Store: store, ToAddress: there, Report: func(string) {}}
}

// step is the step of a store's move, or "absent".
func (p place) step(t require.TestingT, store string) string {
	at, err := p.GetMove(context.Background(), &adminv1.GetMoveRequest{Store: store})
	if apierr.Is(err, apierr.StoreNotFound) {
		return "absent"
	}
	require.NoError(t, err)
	return at.GetStep()
}

// rows are all rows of a store as a move reads them, by table and id, but for what a move itself sets.
func (p place) rows(t require.TestingT, store uuid.UUID) map[string]string {
	all := map[string]string{}
	for _, table := range move.Tables {
		listed, more, err := move.List(context.Background(), p.db, store, table, move.Range{Until: uuid.Max})
		require.NoError(t, err)
		require.False(t, more)
		for _, l := range listed {
			out, _, err := move.Read(context.Background(), p.db, p.ring, store, table, []uuid.UUID{l.ID})
			require.NoError(t, err)
			require.Len(t, out.Rows, 1)
			if table.Name == "stores" {
				continue // the answers show it
			}
			var values []any
			require.NoError(t, json.Unmarshal([]byte(out.Rows[0]), &values))
			for i, v := range values { // PostgreSQL puts spaces into JSON
				text, _ := v.(string)
				var short bytes.Buffer
				if b, err := base64.StdEncoding.DecodeString(text); err == nil && json.Compact(&short, b) == nil {
					values[i] = short.String()
				}
			}
			all[table.Name+" "+l.ID.String()] = fmt.Sprint(out.Columns, values)
		}
	}
	return all
}

// totals are how many orders and products the lists say that a store has.
func (p place) totals(t require.TestingT, store string) [2]int64 {
	orders, err := p.ListOrders(context.Background(), &adminv1.ListOrdersRequest{Store: store})
	require.NoError(t, err)
	products, err := p.ListProducts(context.Background(), &adminv1.ListProductsRequest{Store: store})
	require.NoError(t, err)
	return [2]int64{orders.GetTotal(), products.GetTotal()}
}

// newStore makes a store with a webhook and an API key.
func (p place) newStore(t require.TestingT, slug string) uuid.UUID {
	made, err := p.CreateStore(context.Background(), &adminv1.CreateStoreRequest{Name: "S", Slug: slug, Currency: "KWD",
		Country: "KW"})
	require.NoError(t, err)
	_, err = p.CreateWebhook(context.Background(), &adminv1.CreateWebhookRequest{Store: slug, Url: "https://receiver.example/x",
		Events: []string{hook.OrderPaid, hook.CustomerCreated}})
	require.NoError(t, err)
	_, err = p.CreateKey(context.Background(), &adminv1.CreateKeyRequest{Store: slug, Name: "crm", Scopes: []string{"orders:read"},
		Lifetime: adminv1.Key_DAYS_90})
	require.NoError(t, err)
	return uuid.MustParse(made.GetId())
}

// Every table of the catalogue that has a store is copied, but for counts, which triggers keep, and what stays at the old place.
func TestAMoveKnowsEveryTable(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		tables := ofStore(t, s, uuid.Nil)
		for _, table := range move.Tables {
			delete(tables, table.Name)
		}
		for _, stays := range []string{"row_counts", "row_deltas", "sessions", "sign_in_links", "refused_requests", "tallies"} {
			delete(tables, stays)
		}
		require.Empty(t, tables)
	})
}

// Whatever happened in a store, its rows are the same where it moved to, in the same and in another kind of database, and
// an export and the totals of lists are as they were; at the old place nothing can be changed.
func TestAStoreMovesWhole(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "a store on Citus does not move")
	for _, way := range ways {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			from, to := newPlace(t, way[0]), newPlace(t, way[1])
			n := 0
			rapid.Check(t, func(t *rapid.T) {
				n++
				slug := fmt.Sprint("s", n)
				store := from.newStore(t, slug)
				products := history(t, from.Operator, from.db, slug)
				want, total, rows := exportOf(t, from, slug), from.totals(t, slug), from.rows(t, store)
				done, err := mover(from, to, slug).Run(t.Context())
				require.NoError(t, err)
				require.Equal(t, store.String(), done.Store)
				require.Equal(t, rows, to.rows(t, store))
				require.Equal(t, want.lines, exportOf(t, to, slug).lines)
				require.Equal(t, total, to.totals(t, slug))
				require.Equal(t, [2]string{tenant.Moved, ""}, [2]string{from.step(t, slug), to.step(t, slug)})
				for _, id := range products {
					change := &adminv1.UpdateProductRequest{Id: id, Summary: new("y")}
					_, err := from.UpdateProduct(t.Context(), change)
					require.ErrorIs(t, err, hook.ErrMoving)
					_, err = to.UpdateProduct(t.Context(), change)
					require.NoError(t, err)
				}
			})
		})
	}
}

var errKilled = errors.New("killed")

// killed is an API that carries out some calls more of a move, and the last of them without an answer.
type killed struct {
	admin.API
	left *int
}

func call[In, Out any](ctx context.Context, k killed, in In, do func(context.Context, In) (*Out, error)) (*Out, error) {
	if *k.left--; *k.left < 0 {
		return nil, errKilled
	}
	out, err := do(ctx, in)
	if *k.left == 0 {
		return nil, errKilled
	}
	return out, err
}

func (k killed) GetMove(ctx context.Context, in *adminv1.GetMoveRequest) (*adminv1.Move, error) {
	return call(ctx, k, in, k.API.GetMove)
}

func (k killed) SetMove(ctx context.Context, in *adminv1.SetMoveRequest) (*adminv1.Move, error) {
	return call(ctx, k, in, k.API.SetMove)
}

func (k killed) ListRows(ctx context.Context, in *adminv1.ListRowsRequest) (*adminv1.ListRowsResponse, error) {
	return call(ctx, k, in, k.API.ListRows)
}

func (k killed) ReadRows(ctx context.Context, in *adminv1.ReadRowsRequest) (*adminv1.Rows, error) {
	return call(ctx, k, in, k.API.ReadRows)
}

func (k killed) WriteRows(ctx context.Context, in *adminv1.WriteRowsRequest) (*adminv1.WriteRowsResponse, error) {
	return call(ctx, k, in, k.API.WriteRows)
}

// A move that ends after any of its calls, carried out but not answered, is taken back, or gone on with: at no time both
// places are open, and nothing is lost.
func TestAMoveThatIsKilledGoesOnOrBack(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "a store on Citus does not move")
	for _, way := range ways[1:3] {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			from, to := newPlace(t, way[0]), newPlace(t, way[1])
			b := shoptest.Bench{Shop: shop.New(from.db, shop.Options{}), DB: from.db, T: t}
			seen := map[[2]string]bool{}
			for calls, ended := 1, false; !ended; calls++ {
				slug := fmt.Sprint("s", calls)
				store := from.newStore(t, slug)
				found, err := b.FindStore(t.Context(), slug)
				require.NoError(t, err)
				b.Ctx = shoptest.As(found)
				b.Buy("a@example.com", b.Product("P", 5).GetId(), "")
				left := calls
				_, err = mover(killed{from, &left}, killed{to, &left}, slug).Run(t.Context())
				if ended = err == nil; !ended {
					require.ErrorIs(t, err, errKilled)
				}
				at := [2]string{from.step(t, slug), to.step(t, slug)}
				seen[at] = true
				require.True(t, at[0] == tenant.Moved || at[1] == "absent" || at[1] == tenant.Arriving, "not both are open: %q", at)
				if calls%3 == 0 && at[0] != tenant.Moved {
					require.NoError(t, mover(from, to, slug).Abort(t.Context()))
					require.Empty(t, from.step(t, slug))
					b.Buy("b@example.com", b.Product("Q", 5).GetId(), "")
					continue
				}
				if at[0] == "" || at[0] == tenant.Copying || at[0] == tenant.Draining {
					b.Buy("b@example.com", b.Product("Q", 5).GetId(), "") // it sells on
				}
				rows := from.rows(t, store)
				done, err := mover(from, to, slug).Run(t.Context())
				require.NoError(t, err)
				require.Equal(t, store.String(), done.Store)
				require.Equal(t, rows, to.rows(t, store))
				require.Equal(t, [2]string{tenant.Moved, ""}, [2]string{from.step(t, slug), to.step(t, slug)})
				require.Equal(t, dbtest.Count(t, to.db, "customers WHERE store_id = $1", store), dbtest.Count(t, to.db,
					"outbox WHERE store_id = $1", store), "a customer.created for each buyer")
			}
			for _, at := range [][2]string{{tenant.Copying, "absent"}, {tenant.Copying, tenant.Arriving},
				{tenant.Draining, tenant.Arriving},
				{tenant.Frozen, tenant.Arriving}, {tenant.Moved, tenant.Arriving}, {tenant.Moved, ""}} {
				require.Contains(t, seen, at, "a kill left it so")
			}
		})
	}
}

// A store sells while it moves: every order that was answered is where it moved to, once, and its last one came before the
// switch.
func TestAStoreSellsWhileItMoves(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "a store on Citus does not move")
	for _, way := range ways {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			from, to := newPlace(t, way[0]), newPlace(t, way[1])
			store := from.newStore(t, "atelier")
			sellers := shop.New(from.db, shop.Options{})
			found, err := sellers.FindStore(t.Context(), "atelier")
			require.NoError(t, err)
			ctx := shoptest.As(found)
			product := shoptest.Bench{Shop: sellers, DB: from.db, T: t, Ctx: ctx}.Product("P", 5)
			var all sync.WaitGroup
			var mu sync.Mutex
			sold := map[string]bool{}
			for seller := range 3 {
				all.Go(func() {
					for n := 0; ; n++ {
						order, err := sellers.RecordOrder(ctx, shop.OrderDraft{
							Buyer: shop.Buyer{Email: new(fmt.Sprintf("%d-%d@example.com", seller, n))},
							Lines: []shop.OrderLine{{ProductID: product.GetId(), Quantity: 1}}})
						if errors.Is(err, hook.ErrMoving) {
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						sold[order.GetId()] = true
						mu.Unlock()
						time.Sleep(5 * time.Millisecond)
					}
				})
			}
			time.Sleep(300 * time.Millisecond)
			done, err := mover(from, to, "atelier").Run(t.Context())
			require.NoError(t, err)
			all.Wait()
			t.Logf("%d orders, frozen for %s", len(sold), done.Frozen)
			require.Equal(t, len(sold), dbtest.Count(t, to.db, "orders WHERE store_id = $1", store))
			for id := range sold {
				_, err := to.GetOrder(t.Context(), &storefrontv1.GetOrderRequest{Id: id})
				require.NoError(t, err)
			}
			require.Equal(t, len(sold), dbtest.Count(t, to.db, "outbox WHERE store_id = $1", store), "a customer.created of each")
		})
	}
}
