package shop_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/transfer/transfertest"
	"go.storefront.example/server/webhooks"
)

// waiting is a bench on PostgreSQL. Tests set its clock, and make changes wait for the lock of a row.
type waiting struct {
	bench
	audit audit
	now   *atomic.Int64 // milliseconds
}

func newWaiting(t *testing.T) waiting {
	t.Helper()
	now := &atomic.Int64{}
	now.Store(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	d := dbtest.New(t, dbtest.Postgres, db.Config{Clock: func() time.Time { return time.UnixMilli(now.Load()) }})
	a := newAudit(t, d)
	return waiting{newBench(t, d, shop.Options{}), a, now}
}

// behind locks a row in a transaction, and makes a change wait for this row. Then it advances the clock by a minute. If the
// argument meanwhile is not "", it is an SQL statement, which behind executes in the transaction. At last behind commits the
// transaction, and returns once the change is made.
func (w waiting) behind(table, id string, change func() error, meanwhile string) {
	w.T.Helper()
	holder, err := w.DB.Writer().Begin()
	require.NoError(w.T, err)
	defer func() { _ = holder.Rollback() }() // does nothing after the commit
	_, err = holder.Exec("SELECT 1 FROM "+table+" WHERE id = $1 FOR UPDATE", id)
	require.NoError(w.T, err)
	made := make(chan error, 1)
	go func() { made <- change() }()
	w.untilWaiting(made)
	w.now.Add(time.Minute.Milliseconds())
	if meanwhile != "" {
		_, err = holder.Exec(meanwhile, id)
		require.NoError(w.T, err)
	}
	require.NoError(w.T, holder.Commit())
	require.NoError(w.T, <-made)
}

// untilWaiting returns as soon as the change waits for a lock.
func (w waiting) untilWaiting(made <-chan error) {
	w.T.Helper()
	for waits := 0; waits == 0; {
		select {
		case err := <-made:
			require.Fail(w.T, "the change did not wait", "%v", err)
		default:
		}
		require.NoError(w.T, w.DB.Reader().QueryRow(
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waits))
	}
}

func TestTheTimeIsTakenWhenTheRowsAreHeld(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	product, link := w.Product("Guide", 1000).GetId(), w.Link(nil).GetId()
	pending := func() *storefrontv1.Order { return w.Buy("ada@example.com", "", link) }
	ada := pending().GetCustomer().GetId()
	key, err := w.CreateKey(w.Ctx, shop.KeyDraft{Name: "k", Scopes: []string{"products:read"}, Lifetime: adminv1.Key_NEVER})
	require.NoError(t, err)
	made, err := w.CreateWebhook(w.Ctx, webhooks.Registration{URL: "https://receiver.example.com/hooks"})
	require.NoError(t, err)
	hook := made.ID.String()
	inStore, err := w.FindStore(w.Ctx, "atelier")
	require.NoError(t, err)
	pay := func(ctx context.Context) func(string) error {
		return func(id string) error { _, err := w.MoveOrder(ctx, id, "PAID"); return err }
	}
	fail := func(id string) error { _, err := w.MoveOrder(w.Ctx, id, "FAILED"); return err }
	cancel := func(id string) error { _, err := w.MoveOrder(w.Ctx, id, "CANCELLED"); return err }
	record := func(email string) func(string) error {
		return func(string) error {
			_, err := w.RecordOrder(w.Ctx, shop.OrderDraft{Buyer: shop.Buyer{Email: &email}, PaymentLinkID: link})
			return err
		}
	}
	for _, row := range []struct {
		name, table, id string // name of the case; table and id of the row to lock, where "" is the id of a new order
		change          func(orderID string) error
	}{
		{"an order behind its customer", "customers", ada, record("ada@example.com")},
		{"an order and its new customer behind the link", "payment_links", link, record("new@example.com")},
		{"a payment behind its order", "orders", "", pay(w.Ctx)},
		{"a payment behind its customer", "customers", ada, pay(w.Ctx)},
		{"a payment behind its link", "payment_links", link, pay(w.Ctx)},
		{"a payment under a key of its own", "customers", ada, pay(tenant.WithIdempotencyKey(w.Ctx, "once"))},
		{"a failure behind its customer", "customers", ada, fail},
		{"a failure behind its link", "payment_links", link, fail},
		{"a cancellation behind its customer", "customers", ada, cancel},
		{"a product", "products", product, func(string) error {
			_, err := w.UpdateProduct(w.Ctx, &storefrontv1.UpdateProductRequest{Id: product, Title: new("Guide 2")})
			return err
		}},
		{"a customer", "customers", ada, func(string) error {
			_, err := w.UpdateCustomer(w.Ctx, &storefrontv1.UpdateCustomerRequest{Id: ada, Name: new("Ada 2")})
			return err
		}},
		{"a customer who is completed", "customers", ada, func(string) error {
			_, err := w.CreateCustomer(w.Ctx, &storefrontv1.CreateCustomerRequest{Email: new("ada@example.com"),
				Phone: new("+237670333301")})
			return err
		}},
		{"a payment link", "payment_links", link, func(string) error { _, err := w.DisablePaymentLink(w.Ctx, link); return err }},
		{"a store", "stores", inStore.ID.String(), func(string) error {
			_, err := w.UpdateStore(w.Ctx, &adminv1.UpdateStoreRequest{Description: new("d")})
			return err
		}},
		{"a key", "api_keys", key.ID.String(), func(string) error { _, err := w.RevokeKey(w.Ctx, key.ID.String()); return err }},
		{"a webhook", "webhooks", hook, func(string) error { _, err := w.DisableWebhook(w.Ctx, hook); return err }},
		{"a load behind the store", "stores", inStore.ID.String(), func(string) error {
			return transfertest.Customers(w.Ctx, w.DB, &adminv1.ImportOptions{Events: true}, transfertest.OneCustomer())
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := w.EnablePaymentLink(w.Ctx, &storefrontv1.EnablePaymentLinkRequest{Id: link})
			require.NoError(t, err)
			order := pending().GetId()
			held := row.id
			if held == "" {
				held = order
			}
			before, notes, other := 0, 0, 0
			require.NoError(t, w.DB.Reader().QueryRow("SELECT max(number) FROM audit").Scan(&before))
			w.behind(row.table, held, func() error { return row.change(order) }, "")
			require.NoError(t, w.DB.Reader().QueryRow("SELECT count(*), count(CASE WHEN at <> $2 THEN 1 END) FROM audit WHERE number > $1",
				before, time.UnixMilli(w.now.Load())).Scan(&notes, &other))
			require.Positive(t, notes)
			require.Zero(t, other)
		})
	}
}

// A failed payment shows the buyer in its answer and in its event. No other transaction can rename the buyer between the two.
func TestAnAnswerAndItsEventShowTheSameBuyer(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	o := w.Buy("ada@example.com", w.Product("Guide", 1000).GetId(), "")
	var answer *storefrontv1.Order
	w.behind("customers", o.GetCustomer().GetId(), func() (err error) {
		answer, err = w.MoveOrder(w.Ctx, o.GetId(), "FAILED")
		return err
	}, "UPDATE customers SET name = 'Renamed' WHERE id = $1")
	require.Equal(t, "Renamed", answer.GetCustomer().GetName())
	var payload []byte
	require.NoError(t, w.DB.Reader().QueryRow("SELECT payload FROM events WHERE type = 'order.failed'").Scan(&payload))
	var sent struct {
		Data struct{ Customer struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal(payload, &sent))
	require.Equal(t, "Renamed", sent.Data.Customer.Name)
}

// Creating a key locks the store's row. New orders, which refer to that row, do not wait for the lock.
func TestAStoresOrdersDoNotWaitForItsKeys(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	bought := w.Product("Guide", 1000).GetId()
	// A trigger pauses the transaction that creates a key, while this transaction has all its locks.
	w.audit.exec("CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN " +
		"NULL; END $$")
	w.audit.exec("CREATE TRIGGER pause AFTER INSERT ON api_keys FOR EACH ROW EXECUTE FUNCTION pause()")
	holder, err := w.DB.Writer().Begin()
	require.NoError(t, err)
	defer func() { _ = holder.Rollback() }() // does nothing after the commit
	_, err = holder.Exec("SELECT pg_advisory_xact_lock(1)")
	require.NoError(t, err)
	made := make(chan error, 1)
	go func() {
		_, err := w.CreateKey(w.Ctx, shop.KeyDraft{Name: "k", Scopes: []string{"products:read"}, Lifetime: adminv1.Key_NEVER})
		made <- err
	}()
	w.untilWaiting(made)
	ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
	defer cancel()
	_, err = w.RecordOrder(ctx, shop.OrderDraft{
		Buyer: shop.Buyer{Email: new("ada@example.com")}, Lines: []shop.OrderLine{{ProductID: bought, Quantity: 1}},
	})
	require.NoError(t, err)
	require.NoError(t, holder.Commit())
	require.NoError(t, <-made)
}
