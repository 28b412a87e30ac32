package service_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/service"
)

func TestImportRefusesALine(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}), service.Options{})
	other := b
	other.ctx = b.newStore("other")
	theirs, known := oneCustomer(), oneCustomer().with("phone", "+237670000001")
	other.load(service.ImportCustomers, theirs)
	theirProduct, ourProduct, ourOrder := oneProduct(), oneProduct(), oneOrder(known)
	other.load(service.ImportProducts, theirProduct)
	theirLink := other.link(nil)
	b.load(service.ImportCustomers, known)
	b.load(service.ImportProducts, ourProduct)
	b.load(service.ImportOrders, ourOrder)
	item := func(name string, value any) fields {
		o := oneOrder(known)
		return o.with("items", []fields{o["items"].([]fields)[0].with(name, value)})
	}
	customer := func(c fields) fields { return oneOrder(known).with("customer", c) }

	rows := []struct {
		reason string
		kind   service.ImportKind
		line   fields
		want   string
	}{
		{"an id is a UUID in its usual form", service.ImportProducts, oneProduct().with("id", "7"), "id: must be a UUID"},
		{"an id of another store is not ours to keep", service.ImportProducts, oneProduct().with("id", theirProduct["id"]), "id: belongs to another store"},
		{"a title is needed", service.ImportProducts, oneProduct().without("title"), "title: must be 1 to 200 characters long"},
		{"a slug is needed", service.ImportProducts, oneProduct().with("slug", ""), "slug: is required"},
		{"a slug stands in an address as it is", service.ImportProducts, oneProduct().with("slug", "a b"), "slug: must stand in an address as it is"},
		{"a slug names one product", service.ImportProducts, oneProduct().with("slug", ourProduct["slug"]), "slug: is another product's"},
		{"types are a set", service.ImportProducts, oneProduct().with("type", "BOOK"), "type: "},
		{"a type is needed", service.ImportProducts, oneProduct().without("type"), "type: is required"},
		{"a status is needed", service.ImportProducts, oneProduct().without("status"), "status: is required"},
		{"amounts start at 0", service.ImportProducts, oneProduct().with("priceAmount", -1), "priceAmount: "},
		{"amounts fit a JavaScript number", service.ImportProducts, oneProduct().with("priceAmount", int64(1)<<53).with("compareAtAmount", nil), "priceAmount: "},
		{"a reference price is above the price", service.ImportProducts, oneProduct().with("compareAtAmount", 500), "compareAtAmount: must be above priceAmount"},
		{"amounts are in the store's currency", service.ImportProducts, oneProduct().with("currency", "EUR"), "currency: must be XAF, the store's currency"},
		{"an address is needed", service.ImportProducts, oneProduct().without("url"), "url: is required"},
		{"addresses are http or https", service.ImportProducts, oneProduct().with("coverUrl", "ftp://x/y"), "coverUrl: must be an http or https address"},
		{"a published product was published at some time", service.ImportProducts, oneProduct().with("publishedAt", nil), "publishedAt: is required for a PUBLISHED product"},
		{"a date is needed", service.ImportProducts, oneProduct().with("createdAt", nil), "createdAt: is required"},
		{"a date is a date", service.ImportProducts, oneProduct().with("updatedAt", "yesterday"), "updatedAt: "},
		{"texts hold no control characters", service.ImportProducts, oneProduct().with("summary", "a\u0007b"), "summary: must not hold control characters"},
		{"unknown fields are misspelt ones", service.ImportProducts, oneProduct().with("price", 5), "price: is not a known field"},
		{"every refused field is named", service.ImportProducts, oneProduct().with("title", 5).with("currency", "EUR").without("url"), "title: must be a string; currency: must be XAF, the store's currency; url: is required"},

		{"a customer is identified", service.ImportCustomers, oneCustomer().with("email", nil), "email: is required, or a phone"},
		{"e-mails are addresses", service.ImportCustomers, oneCustomer().with("email", "awa"), "email: must be an e-mail address"},
		{"phones are possible numbers", service.ImportCustomers, oneCustomer().with("phone", "12"), "phone: "},
		{"an e-mail is one customer's, whatever its case", service.ImportCustomers, oneCustomer().with("email", strings.ToUpper(known["email"].(string))), "email: is another customer's"},
		{"a phone is one customer's, however it is written", service.ImportCustomers, oneCustomer().with("phone", "670 00 00 01"), "phone: is another customer's"},
		{"counters start at 0", service.ImportCustomers, oneCustomer().with("ordersCount", -1), "ordersCount: "},
		{"counters are whole", service.ImportCustomers, oneCustomer().with("totalPaid", 1.5), "totalPaid: "},
		{"an id of another store is not ours to keep", service.ImportCustomers, oneCustomer().with("id", theirs["id"]), "id: belongs to another store"},

		{"a reference names one order", service.ImportOrders, oneOrder(known).with("reference", ourOrder["reference"]), "reference: is another order's"},
		{"a reference is needed", service.ImportOrders, oneOrder(known).with("reference", " "), "reference: is required"},
		{"a paid order was paid at some time", service.ImportOrders, oneOrder(known).with("paidAt", nil), "paidAt: is required for an order that was paid"},
		{"an order that was not paid was never", service.ImportOrders, oneOrder(known).with("status", "FAILED"), "paidAt: must be null for an order that was not paid"},
		{"a fee is a percentage", service.ImportOrders, oneOrder(known).with("platformFeePercent", 100.5), "platformFeePercent: must be a percentage"},
		{"an order has a customer", service.ImportOrders, oneOrder(known).with("customer", nil), "customer"},
		{"an order's customer has an id", service.ImportOrders, customer(fields{"name": "A", "email": "a@example.com"}), "customer.id: must be a UUID"},
		{"a customer of another store cannot buy", service.ImportOrders, oneOrder(theirs), "customer.id: belongs to another store"},
		{"a new customer is identified", service.ImportOrders, customer(fields{"id": uuid.NewString(), "name": "A"}), "customer.id: is no customer of the store"},
		{"a new customer's e-mail is its own", service.ImportOrders, customer(fields{"id": uuid.NewString(), "name": "A", "email": known["email"]}), "customer.email: is another customer's"},
		{"a payment link is one of the store", service.ImportOrders, oneOrder(known).with("paymentLink", fields{"id": theirLink.Id}), "paymentLink.id: is no payment link of the store"},
		{"an item's id is its own", service.ImportOrders, item("id", ourOrder["items"].([]fields)[0]["id"]), "items[0].id: is another item's"},
		{"an item is at least one", service.ImportOrders, item("quantity", 0), "items[0].quantity: must be a whole number from 1"},
		{"an item has a title", service.ImportOrders, item("title", ""), "items[0].title: must be 1 to 200"},
		{"an item has a type", service.ImportOrders, item("type", "BOOK"), "items[0].type: "},
		{"an item's product has an id", service.ImportOrders, item("productId", "p"), "items[0].productId: must be a UUID"},
	}
	for _, row := range rows {
		_, err := b.Import(b.ctx, lines(row.line), service.Import{Kind: row.kind})
		var bad *service.LineError
		require.ErrorAs(t, err, &bad, row.reason)
		require.Equal(t, 1, bad.Line, row.reason)
		require.Contains(t, bad.Problem, row.want, row.reason)
	}
	require.EqualValues(t, []string{"store.created", "store.created", "store.imported", "store.imported", "payment_link.created", "store.imported", "store.imported", "store.imported"},
		actions(b.journal()), "a refused line leaves no entry")
}

// Whatever a line holds, it is loaded or refused by its number.
func FuzzImportLine(f *testing.F) {
	for _, object := range []fields{oneProduct(), oneCustomer(), oneOrder(oneCustomer()), {}, {"items": []fields{{}}}} {
		text := make([]byte, lines(object).Len())
		_, _ = lines(object).Read(text)
		for kind := range 3 {
			f.Add(kind, text)
		}
	}
	f.Add(0, []byte("id,name"))
	f.Add(1, []byte("[1,2]"))
	f.Add(2, []byte(`{"customer":7,"paymentLink":{"id":""},"paidAt":"0001-01-01T00:00:00Z"}`))
	kinds := []service.ImportKind{service.ImportProducts, service.ImportCustomers, service.ImportOrders}
	s := dbtest.New(f, dbtest.SQLite, db.Config{})
	rules := service.New(s, service.Options{})
	_, err := rules.CreateStore(context.Background(), tenant.Actor{Type: tenant.ActorOperator}, &adminv1.CreateStoreRequest{
		Name: "S", Slug: "s", Currency: "XAF", Country: "CM",
	})
	require.NoError(f, err)
	found, err := rules.FindStore(context.Background(), "s")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, kind int, text []byte) {
		_, err := rules.Import(as(found), bytes.NewReader(text), service.Import{Kind: kinds[uint(kind)%3]})
		if err == nil {
			return
		}
		var bad *service.LineError
		require.True(t, errors.As(err, &bad), "%v", err)
		require.Positive(t, bad.Line)
		require.NotEmpty(t, bad.Problem)
	})
}
