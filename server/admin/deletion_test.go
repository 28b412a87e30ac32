package admin_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/erase"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/dashboard/signin"
	"go.storefront.example/server/shop/shoptest"
)

// deletion has two stores, a clock and a hook on SQL statements, for tests that delete the store "two".
type deletion struct {
	two
	db      *db.DB
	clock   *shoptest.Clock
	id      uuid.UUID
	observe *atomic.Pointer[func(query string)]
}

func newDeletion(t *testing.T, test func(t *testing.T, d deletion)) {
	t.Helper()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			clock, observe := shoptest.NewClock(), &atomic.Pointer[func(string)]{}
			s := dbtest.New(t, database, db.Config{Clock: clock.Now, Observe: func(query string) {
				if do := observe.Load(); do != nil {
					(*do)(query)
				}
			}})
			w := newTwo(t, s)
			test(t, deletion{w, s, clock, uuid.MustParse(w.stores[1].store), observe})
		})
	}
}

func (d deletion) now(t *testing.T) {
	t.Helper()
	_, err := d.DeleteStore(t.Context(), &adminv1.DeleteStoreRequest{Store: "two", GraceSeconds: new(int64(0)), ConfirmSlug: "two"})
	require.NoError(t, err)
	d.clock.Advance(time.Second) // the deletion's time may be some milliseconds later than the clock
}

// begin deletes rows as a worker does, up to the orders: the API keys, but not the products.
func (d deletion) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d.observe.Store(new(func(query string) {
		if strings.HasPrefix(query, "DELETE FROM orders") {
			cancel()
		}
	}))
	require.ErrorIs(t, erase.Store(ctx, d.db, d.id), context.Canceled)
	d.observe.Store(nil)
	require.Zero(t, dbtest.Count(t, d.db, "api_keys WHERE store_id = $1", d.id))
	require.NotZero(t, dbtest.Count(t, d.db, "products WHERE store_id = $1", d.id))
}

func (d deletion) state(t *testing.T) [2]string {
	t.Helper()
	shown, err := d.GetStoreSettings(t.Context(), &adminv1.GetStoreSettingsRequest{Store: "two"})
	require.NoError(t, err)
	return [2]string{shown.GetStore().GetStatus().String(), shown.GetSettings().GetDeleteAt().AsTime().String()}
}

// After the grace, whether a worker has begun or not, and even if a clock is set back. Then the worker deletes all rows.
func TestAStoreThatIsBeingDeletedIsNeitherRestoredNorDeletedLater(t *testing.T) {
	t.Parallel()
	newDeletion(t, func(t *testing.T, d deletion) {
		d.now(t)
		was := d.state(t)
		refused := func(moment string) {
			for _, grace := range []*int64{nil, new(int64(0)), new(int64(1)), new(int64(86400))} {
				_, err := d.DeleteStore(t.Context(), &adminv1.DeleteStoreRequest{Store: "two", GraceSeconds: grace, ConfirmSlug: "two"})
				require.Equal(t, apierr.StoreBeingDeleted, codeOf(err), moment)
				require.ErrorContains(t, err, "nothing was changed")
			}
			_, err := d.RestoreStore(t.Context(), &adminv1.RestoreStoreRequest{Store: "two"})
			require.Equal(t, apierr.StoreBeingDeleted, codeOf(err), moment)
			for _, status := range []storefrontv1.Store_Status{storefrontv1.Store_open, storefrontv1.Store_suspended} {
				_, err = d.UpdateStore(t.Context(), &adminv1.UpdateStoreRequest{Store: "two", Status: &status})
				require.Equal(t, apierr.StoreBeingDeleted, codeOf(err), moment)
			}
			require.Equal(t, was, d.state(t), moment)
		}
		refused("before a worker begins")
		d.begin(t)
		refused("after the first rows")
		d.clock.Advance(-time.Hour)
		refused("by another clock")
		require.NoError(t, erase.Store(t.Context(), d.db, d.id))
		for table, n := range ofStore(t, d.db, d.id) {
			require.Zero(t, n, table)
		}
		_, err := d.RestoreStore(t.Context(), &adminv1.RestoreStoreRequest{Store: "two"})
		require.Equal(t, apierr.StoreNotFound, codeOf(err))
	})
}

// An operator restores it or prolongs its grace after a worker has found it, before the first deletion.
func TestARestoredStoreKeepsItsRows(t *testing.T) {
	t.Parallel()
	newDeletion(t, func(t *testing.T, d deletion) {
		all := ofStore(t, d.db, d.id)
		order := func() {
			t.Helper()
			_, err := d.DeleteStore(t.Context(), &adminv1.DeleteStoreRequest{Store: "two", GraceSeconds: new(int64(60))})
			require.NoError(t, err)
			d.clock.Advance(time.Hour)
			due, err := erase.DueStores(t.Context(), d.db)
			require.NoError(t, err)
			require.Equal(t, []uuid.UUID{d.id}, due)
			d.clock.Advance(-time.Hour) // the clock of the server that restores the store is an hour behind the worker's
		}
		for _, take := range []func() error{
			func() error {
				_, err := d.RestoreStore(t.Context(), &adminv1.RestoreStoreRequest{Store: "two"})
				return err
			},
			func() error {
				_, err := d.DeleteStore(t.Context(), &adminv1.DeleteStoreRequest{Store: "two"})
				return err
			},
		} {
			order()
			require.NoError(t, take())
			d.clock.Advance(time.Hour)
			require.NoError(t, erase.Store(t.Context(), d.db, d.id))
			kept := ofStore(t, d.db, d.id)
			for table, n := range all {
				require.GreaterOrEqual(t, kept[table], n, table)
			}
		}
	})
}

func TestARestoredStoreIsWholeOrGone(t *testing.T) {
	t.Parallel()
	newDeletion(t, func(t *testing.T, d deletion) {
		all := ofStore(t, d.db, d.id)
		_, err := d.DeleteStore(t.Context(), &adminv1.DeleteStoreRequest{Store: "two", GraceSeconds: new(int64(60))})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var group sync.WaitGroup
		group.Go(func() {
			for range 60 {
				d.clock.Advance(time.Second)
			}
			cancel()
		})
		for range 2 {
			group.Go(func() {
				for ctx.Err() == nil {
					_ = erase.Store(t.Context(), d.db, d.id)
				}
			})
			group.Go(func() {
				for ctx.Err() == nil {
					_, _ = d.RestoreStore(t.Context(), &adminv1.RestoreStoreRequest{Store: "two"})
					_, _ = d.DeleteStore(t.Context(), &adminv1.DeleteStoreRequest{Store: "two", GraceSeconds: new(int64(1))})
				}
			})
		}
		group.Wait()
		_, err = d.RestoreStore(t.Context(), &adminv1.RestoreStoreRequest{Store: "two"})
		if err == nil {
			for table, n := range all {
				require.GreaterOrEqual(t, ofStore(t, d.db, d.id)[table], n, table)
			}
			return
		}
		require.NoError(t, erase.Store(t.Context(), d.db, d.id))
		for table, n := range ofStore(t, d.db, d.id) {
			require.Zero(t, n, table)
		}
	})
}

// An export of the remaining rows would look complete.
func TestAStoreThatIsBeingDeletedIsClosedToItsOperator(t *testing.T) {
	t.Parallel()
	newDeletion(t, func(t *testing.T, d deletion) {
		ctx := t.Context()
		export := func() error {
			return d.Export(ctx, &adminv1.ExportStoreRequest{Store: "two"}, func(*adminv1.ExportStoreResponse) error { return nil })
		}
		ofAwa := &adminv1.CreateSignInLinkRequest{Store: "two", Member: "Awa", Role: adminv1.Session_owner,
			BaseUrl: "https://dashboard.example.com"}
		link, err := d.CreateSignInLink(ctx, ofAwa)
		require.NoError(t, err)
		_, secret, _ := strings.Cut(link.GetUrl(), "token=")
		d.now(t)
		require.NoError(t, export(), "all of it is there")

		// Once the export has looked up the store, a worker begins to delete its rows.
		d.observe.Store(new(func(query string) {
			if query == "BEGIN" {
				d.observe.Store(nil)
				_, err := d.db.Writer().ExecContext(ctx, "UPDATE stores SET deletion_began_at = $1 WHERE id = $2", d.db.Now(), d.id)
				require.NoError(t, err)
			}
		}))
		require.Equal(t, apierr.StoreBeingDeleted, codeOf(export()))
		had := ofStore(t, d.db, d.id)
		owns := d.stores[1]
		for operation, do := range map[string]func() error{
			"export": export,
			"import": func() error {
				_, err := d.ImportCustomers(ctx, &adminv1.ImportCustomersRequest{Store: "two", Customers: []*storefrontv1.Customer{
					{Name: "Awa", Email: new("awa@example.com")}}})
				return err
			},
			"every call of storefront.v1": func() error {
				_, err := d.WithStore(ctx, "two")
				return err
			},
			"order": func() error {
				_, err := d.CreateOrder(ctx, &adminv1.CreateOrderRequest{Store: "two", Email: new("a@example.com"),
					Items: []*adminv1.CreateOrderRequest_Item{{ProductId: owns.product, Quantity: 1}}})
				return err
			},
			"payment": func() error {
				_, err := d.PayOrder(ctx, &adminv1.PayOrderRequest{Id: owns.order})
				return err
			},
			"key": func() error {
				_, err := d.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: "two", Name: "k", Scopes: []string{"store:read"},
					Lifetime: adminv1.Key_DAYS_30})
				return err
			},
			"webhook": func() error {
				_, err := d.CreateWebhook(ctx, &adminv1.CreateWebhookRequest{Store: "two", Url: "https://example.com/hook"})
				return err
			},
			"product": func() error {
				_, err := d.SetProductContent(ctx, &adminv1.SetProductContentRequest{Product: &storefrontv1.UpdateProductRequest{Id: owns.product}})
				return err
			},
			"sign-in link": func() error {
				_, err := d.CreateSignInLink(ctx, ofAwa)
				return err
			},
			"name": func() error {
				_, err := d.UpdateStore(ctx, &adminv1.UpdateStoreRequest{Store: "two", Name: new("Deux")})
				return err
			},
		} {
			require.Equal(t, apierr.StoreBeingDeleted, codeOf(do()), operation)
		}
		_, err = signin.New(d.db).SignIn(ctx, secret)
		require.ErrorIs(t, err, signin.ErrLink)
		require.Equal(t, had, ofStore(t, d.db, d.id))
		_, err = d.ListOrders(shoptest.In(t, ctx, d, "one"), &storefrontv1.ListOrdersRequest{})
		require.NoError(t, err, "another store")
	})
}

// Other stores can write. On SQLite the log can be emptied only after the export, which the receipt names until then.
func TestAForgettingEndsBesideAnExport(t *testing.T) {
	t.Parallel()
	// With this timeout, waiting for a lock of the SQLite file fails the test.
	dbtest.RunWith(t, db.Config{LockTimeout: time.Hour}, func(t *testing.T, d *db.DB) {
		w := newTwo(t, d)
		ctx := t.Context()
		onSQLite := d.Dialect() != dbtest.Postgres
		buyer := func(email string) string {
			made, err := w.CreateCustomer(shoptest.In(t, ctx, w, "two"), &storefrontv1.CreateCustomerRequest{Email: &email})
			require.NoError(t, err)
			return made.GetId()
		}
		forget := func(id string) *adminv1.Forgetting {
			receipt, err := admin.Forget(ctx, w, id, func(*adminv1.Forgetting) {
				buyer(uuid.NewString() + "@example.com") // the store called two writes between two steps of the erasure
			})
			require.NoError(t, err)
			require.NotNil(t, receipt.GetFinishedAt())
			return receipt
		}
		first, second := buyer("awa@example.com"), buyer("issa@example.com")
		done := errors.New("enough")
		err := w.Export(ctx, &adminv1.ExportStoreRequest{Store: "one"}, func(*adminv1.ExportStoreResponse) error {
			for _, id := range []string{first, second, first} {
				receipt := forget(id)
				require.Equal(t, onSQLite, receipt.GetLogWaitsFor() == "export", receipt)
			}
			waiting, err := erase.EmptyLog(ctx, d)
			require.NoError(t, err)
			require.Equal(t, onSQLite, waiting)
			return done
		})
		require.ErrorIs(t, err, done)

		// If another transaction keeps the log from being emptied, the receipt says "reader".
		require.NoError(t, d.Snapshot(ctx, "other", func(ctx context.Context, tx *ent.Tx) error {
			_, err := tx.Store.Query().Count(ctx)
			require.NoError(t, err)
			if receipt := forget(first); onSQLite {
				require.Equal(t, "reader", receipt.GetLogWaitsFor())
			}
			return nil
		}))

		waiting, err := erase.EmptyLog(ctx, d) // workers do this regularly
		require.NoError(t, err)
		require.False(t, waiting)
		for _, id := range []string{first, second} {
			receipt, err := w.ForgetCustomer(ctx, &adminv1.ForgetCustomerRequest{Id: id})
			require.NoError(t, err)
			require.Nil(t, receipt.LogWaitsFor, "the receipt that is kept")
		}
	})
}
