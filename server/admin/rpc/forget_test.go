package rpc_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
)

// The customer's values, now and before a change, for which tests search the database.
const (
	buyerName, oldName   = "Zéphyrine Quagliotti", "Zephyrine Qvist"
	buyerEmail, oldEmail = "zephyrine.q@mail.example", "qvist.zephyrine@old.example"
	buyerPhone           = "+237670991234"
)

var buyerStrings = []string{"zéphyrine", "zephyrine", "quagliotti", "qvist", "mail.example", "670991234"}

// traces returns where the database, or SQLite's files, contain one of the lower-case strings, in whatever case.
func traces(t require.TestingT, d *db.DB, strings ...string) (found []string) {
	everywhere(t, d, func(place string, text []byte) {
		for _, part := range strings {
			if bytes.Contains(bytes.ToLower(text), []byte(part)) {
				found = append(found, place+" has "+part)
			}
		}
	})
	slices.Sort(found)
	return slices.Compact(found)
}

func everywhere(t require.TestingT, d *db.DB, look func(place string, text []byte)) {
	names := "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
	var file string
	if d.Reader().QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file) == nil {
		names = "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	for row := range db.Rows(context.Background(), d.Reader(), names) {
		var table string
		require.NoError(t, row.Scan(&table))
		rows, err := d.Reader().Query("SELECT * FROM " + table)
		require.NoError(t, err)
		columns, err := rows.Columns()
		require.NoError(t, err)
		values, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			require.NoError(t, rows.Scan(into...))
			for i, value := range values {
				look(table+"."+columns[i], value)
			}
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
	}
	for _, suffix := range []string{"", "-wal"} {
		if file != "" {
			text, err := os.ReadFile(file + suffix)
			require.NoError(t, err)
			look("the file "+suffix, text)
		}
	}
}

// buyer creates a customer with data in every table that can have some.
func (b *bench) buyer(events int) (customer *storefrontv1.Customer, order *storefrontv1.Order) {
	b.Helper()
	ctx := b.Context()
	made, err := b.operator.CreateCustomer(shoptest.In(b, ctx, b.operator, "s"), &storefrontv1.CreateCustomerRequest{Name: oldName, Email: new(oldEmail)})
	require.NoError(b, err)
	customer, err = b.operator.UpdateCustomer(shoptest.In(b, ctx, b.operator, "s"), &storefrontv1.UpdateCustomerRequest{Id: made.GetId(),
		Name: new(buyerName), Email: new(buyerEmail), Phone: new(buyerPhone)})
	require.NoError(b, err)
	p, err := b.operator.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: "s", Title: "P", PriceAmount: new(int64(5)),
		Type: storefrontv1.Product_FILE})
	require.NoError(b, err)
	for i := range events {
		order, err = b.operator.CreateOrder(ctx, &adminv1.CreateOrderRequest{
			Store: "s", Email: new(buyerEmail), Note: new("For " + buyerName), IdempotencyKey: fmt.Sprintf("till-%d", i),
			Items: []*adminv1.CreateOrderRequest_Item{{ProductId: p.GetId(), Quantity: 1}},
		})
		require.NoError(b, err)
		_, err = b.operator.PayOrder(ctx, &adminv1.PayOrderRequest{Id: order.GetId(), IdempotencyKey: buyerEmail + fmt.Sprint(i)})
		require.NoError(b, err)
	}
	store := order.GetCustomer()
	require.Equal(b, buyerName, store.GetName())
	now, webhook := b.db.Now(), uuid.New()
	var storeID uuid.UUID
	require.NoError(b, b.db.Reader().QueryRow("SELECT id FROM stores").Scan(&storeID))
	for n, event := range b.db.Client().Event.Query().AllX(ctx) {
		if !bytes.Contains(event.Payload, []byte(customer.GetId())) {
			continue
		}
		attempts := fmt.Appendf(nil, `[{"number":1,"startedAt":"2026-10-01T12:00:00.000Z","durationMs":5,"statusCode":500,`+
			`"error":"answered 500","answer":"no room for %s"}]`, buyerEmail)
		if n%2 == 0 {
			_, err = b.db.Writer().Exec(`INSERT INTO finished_deliveries
 (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
 VALUES ($1, $2, $3, $4, $5, 'failed', $6, $7, $7)`, uuid.New(), storeID, webhook, event.ID, event.Type, attempts, now)
		} else {
			_, err = b.db.Writer().Exec(`INSERT INTO deliveries
 (id, store_id, webhook_id, event_id, event_type, retry, due_at, attempts, epoch, created_at)
 VALUES ($1, $2, $3, $4, $5, true, $6, $7, 1, $8)`, uuid.New(), storeID, webhook, event.ID, event.Type, now.Add(time.Hour), attempts, now)
		}
		require.NoError(b, err)
	}
	return customer, order
}

// others creates so many customers that SQLite moves rows between pages.
func (b *bench) others(n int) {
	b.Helper()
	for i := range n {
		made, err := b.operator.CreateCustomer(shoptest.In(b, b.Context(), b.operator, "s"), &storefrontv1.CreateCustomerRequest{Name: strings.Repeat("n",
			1+i%90),
			Email: new(fmt.Sprintf("%s@other.example", uuid.NewString()))})
		require.NoError(b, err)
		if i%3 == 0 {
			_, err = b.operator.UpdateCustomer(shoptest.In(b, b.Context(), b.operator, "s"), &storefrontv1.UpdateCustomerRequest{Id: made.GetId(),
				Name: new(strings.Repeat("m", 190))})
			require.NoError(b, err)
		}
	}
}

// Later changes do not bring the values back. Amounts, references and dates stay.
func TestAForgottenCustomerIsInNoByte(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		b.others(300)
		customer, order := b.buyer(150)
		b.others(300)
		before := traces(t, d, buyerStrings...)
		for _, place := range []string{"customers.search", "events.payload", "deliveries.attempts", "finished_deliveries.attempts",
			"activity_entries.changes", "idempotency_keys.answer", "orders.note"} {
			require.Contains(t, strings.Join(before, "\n"), place+" has", "there is something to forget in each place")
		}
		client, err := rpc.NewClient(b.url, token)
		require.NoError(t, err)
		kept, err := b.operator.GetOrder(shoptest.In(t, t.Context(), b.operator, "s"), &storefrontv1.GetOrderRequest{Id: order.GetId()})
		require.NoError(t, err)

		steps := 0
		receipt, err := admin.Forget(t.Context(), client, customer.GetId(), func(*adminv1.Forgetting) { steps++ })
		require.NoError(t, err)
		require.Empty(t, traces(t, d, buyerStrings...))
		require.Greater(t, steps, 4, "in batches")
		require.NotContains(t, b.log.String(), "phyrine")
		require.NotContains(t, b.log.String(), "mail.example")

		require.EqualValues(t, 151, receipt.GetEvents(), "of its creation and of each payment")
		require.EqualValues(t, 151, receipt.GetDeliveries())
		require.EqualValues(t, 152, receipt.GetActivityEntries(), "its creation, its change, the orders with a note")
		require.EqualValues(t, 150, receipt.GetNotes())
		require.EqualValues(t, 300, receipt.GetIdempotencyKeys())
		again, err := admin.Forget(t.Context(), client, customer.GetId(), func(*adminv1.Forgetting) {})
		require.NoError(t, err)
		require.Equal(t, receipt.String(), again.String(), "the receipt is kept")

		shown, err := client.GetCustomer(shoptest.In(t, t.Context(), client, "s"), &storefrontv1.GetCustomerRequest{Id: customer.GetId()})
		require.NoError(t, err)
		email := resource.ForgottenEmail(uuid.MustParse(customer.GetId()))
		require.Equal(t, "", shown.GetName())
		require.Equal(t, email, shown.GetEmail())
		require.Nil(t, shown.Phone)
		require.EqualValues(t, 150, shown.GetOrdersCount())
		now, err := client.GetOrder(shoptest.In(t, t.Context(), client, "s"), &storefrontv1.GetOrderRequest{Id: order.GetId()})
		require.NoError(t, err)
		kept.Note, kept.Customer.Name, kept.Customer.Email, kept.Customer.Phone = nil, "", &email, nil
		require.Equal(t, kept.String(), now.String())
		replayed, err := client.CreateOrder(t.Context(), &adminv1.CreateOrderRequest{
			Store: "s", Email: new(buyerEmail), Note: new("For " + buyerName), IdempotencyKey: "till-149",
			Items: []*adminv1.CreateOrderRequest_Item{{ProductId: order.GetItems()[0].GetProductId(), Quantity: 1}},
		})
		require.NoError(t, err, "a request that is repeated makes no second order")
		require.Equal(t, order.GetId(), replayed.GetId())
		require.Equal(t, email, replayed.GetCustomer().GetEmail())
		_, err = client.RefundOrder(t.Context(), &adminv1.RefundOrderRequest{Id: order.GetId()})
		require.NoError(t, err)
		events, err := client.ListEvents(t.Context(), &adminv1.ListEventsRequest{Store: "s", Type: hook.OrderPaid})
		require.NoError(t, err)
		require.Equal(t, hook.Forgotten, events.GetEvents()[0].GetPayload())
		require.Empty(t, traces(t, d, buyerStrings...))

		// An import of a file from before the erasure does not restore the values.
		for _, update := range []bool{false, true} {
			answer, err := client.ImportCustomers(t.Context(), &adminv1.ImportCustomersRequest{
				Store: "s", Options: &adminv1.ImportOptions{Update: update},
				Customers: []*storefrontv1.Customer{customer},
			})
			require.NoError(t, err)
			require.Zero(t, answer.GetStored()+answer.GetChanged())
			require.Empty(t, answer.GetRefused())
		}
		require.Empty(t, traces(t, d, buyerStrings...))

		_, err = client.ForgetCustomer(t.Context(), &adminv1.ForgetCustomerRequest{Id: uuid.NewString()})
		require.Equal(t, apierr.CustomerNotFound, codeOf(err))
		_, err = client.ContinueForgetting(t.Context(), &adminv1.ContinueForgettingRequest{Id: "x"})
		require.Equal(t, apierr.CustomerNotFound, codeOf(err))
	})
}
