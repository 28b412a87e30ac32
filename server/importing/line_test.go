package importing_test

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
	"go.storefront.example/server/importing"
	"go.storefront.example/server/importing/importtest"
	"go.storefront.example/server/service"
)

func TestImportRefusesALine(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	other := b
	other.ctx = b.newStore("other")
	theirs, known := importtest.OneCustomer(), importtest.OneCustomer().With("phone", "+237670000001")
	other.load(importing.Customers, theirs)
	theirProduct, ourProduct, ourOrder := importtest.OneProduct(), importtest.OneProduct(), importtest.OneOrder(known)
	other.load(importing.Products, theirProduct)
	theirLink := other.link(nil)
	b.load(importing.Customers, known)
	b.load(importing.Products, ourProduct)
	b.load(importing.Orders, ourOrder)
	item := func(name string, value any) importtest.Fields {
		o := importtest.OneOrder(known)
		return o.With("items", []importtest.Fields{o["items"].([]importtest.Fields)[0].With(name, value)})
	}
	customer := func(c importtest.Fields) importtest.Fields { return importtest.OneOrder(known).With("customer", c) }

	rows := []struct {
		reason string
		kind   importing.Kind
		line   importtest.Fields
		want   string
	}{
		{"an id is a UUID in its usual form", importing.Products, importtest.OneProduct().With("id", "7"), "id: must be a UUID"},
		{"an id of another store is not ours to keep", importing.Products, importtest.OneProduct().With("id", theirProduct["id"]), "id: belongs to another store"},
		{"a title is needed", importing.Products, importtest.OneProduct().Without("title"), "title: must be 1 to 200 characters long"},
		{"a slug is needed", importing.Products, importtest.OneProduct().With("slug", ""), "slug: is required"},
		{"a slug stands in an address as it is", importing.Products, importtest.OneProduct().With("slug", "a b"), "slug: must stand in an address as it is"},
		{"a slug names one product", importing.Products, importtest.OneProduct().With("slug", ourProduct["slug"]), "slug: is another product's"},
		{"types are a set", importing.Products, importtest.OneProduct().With("type", "BOOK"), "type: "},
		{"a type is needed", importing.Products, importtest.OneProduct().Without("type"), "type: is required"},
		{"a status is needed", importing.Products, importtest.OneProduct().Without("status"), "status: is required"},
		{"amounts start at 0", importing.Products, importtest.OneProduct().With("priceAmount", -1), "priceAmount: "},
		{"amounts fit a JavaScript number", importing.Products, importtest.OneProduct().With("priceAmount", int64(1)<<53).With("compareAtAmount", nil), "priceAmount: "},
		{"a reference price is above the price", importing.Products, importtest.OneProduct().With("compareAtAmount", 500), "compareAtAmount: must be above priceAmount"},
		{"amounts are in the store's currency", importing.Products, importtest.OneProduct().With("currency", "EUR"), "currency: must be XAF, the store's currency"},
		{"an address is needed", importing.Products, importtest.OneProduct().Without("url"), "url: is required"},
		{"addresses are http or https", importing.Products, importtest.OneProduct().With("coverUrl", "ftp://x/y"), "coverUrl: must be an http or https address"},
		{"a published product was published at some time", importing.Products, importtest.OneProduct().With("publishedAt", nil), "publishedAt: is required for a PUBLISHED product"},
		{"a date is needed", importing.Products, importtest.OneProduct().With("createdAt", nil), "createdAt: is required"},
		{"a date is a date", importing.Products, importtest.OneProduct().With("updatedAt", "yesterday"), "updatedAt: "},
		{"texts hold no control characters", importing.Products, importtest.OneProduct().With("summary", "a\u0007b"), "summary: must not hold control characters"},
		{"unknown importtest.Fields are misspelt ones", importing.Products, importtest.OneProduct().With("price", 5), "price: is not a known field"},
		{"every refused field is named", importing.Products, importtest.OneProduct().With("title", 5).With("currency", "EUR").Without("url"), "title: must be a string; currency: must be XAF, the store's currency; url: is required"},

		{"a customer is identified", importing.Customers, importtest.OneCustomer().With("email", nil), "email: is required, or a phone"},
		{"e-mails are addresses", importing.Customers, importtest.OneCustomer().With("email", "awa"), "email: must be an e-mail address"},
		{"phones are possible numbers", importing.Customers, importtest.OneCustomer().With("phone", "12"), "phone: "},
		{"an e-mail is one customer's, whatever its case", importing.Customers, importtest.OneCustomer().With("email", strings.ToUpper(known["email"].(string))), "email: is another customer's"},
		{"a phone is one customer's, however it is written", importing.Customers, importtest.OneCustomer().With("phone", "670 00 00 01"), "phone: is another customer's"},
		{"counters start at 0", importing.Customers, importtest.OneCustomer().With("ordersCount", -1), "ordersCount: "},
		{"counters are whole", importing.Customers, importtest.OneCustomer().With("totalPaid", 1.5), "totalPaid: "},
		{"an id of another store is not ours to keep", importing.Customers, importtest.OneCustomer().With("id", theirs["id"]), "id: belongs to another store"},

		{"a reference names one order", importing.Orders, importtest.OneOrder(known).With("reference", ourOrder["reference"]), "reference: is another order's"},
		{"a reference is needed", importing.Orders, importtest.OneOrder(known).With("reference", " "), "reference: is required"},
		{"a paid order was paid at some time", importing.Orders, importtest.OneOrder(known).With("paidAt", nil), "paidAt: is required for an order that was paid"},
		{"an order that was not paid was never", importing.Orders, importtest.OneOrder(known).With("status", "FAILED"), "paidAt: must be null for an order that was not paid"},
		{"a fee is a percentage", importing.Orders, importtest.OneOrder(known).With("platformFeePercent", 100.5), "platformFeePercent: must be a percentage"},
		{"an order has a customer", importing.Orders, importtest.OneOrder(known).With("customer", nil), "customer"},
		{"an order's customer has an id", importing.Orders, customer(importtest.Fields{"name": "A", "email": "a@example.com"}), "customer.id: must be a UUID"},
		{"a customer of another store cannot buy", importing.Orders, importtest.OneOrder(theirs), "customer.id: belongs to another store"},
		{"a new customer is identified", importing.Orders, customer(importtest.Fields{"id": uuid.NewString(), "name": "A"}), "customer.id: is no customer of the store"},
		{"a new customer's e-mail is its own", importing.Orders, customer(importtest.Fields{"id": uuid.NewString(), "name": "A", "email": known["email"]}), "customer.email: is another customer's"},
		{"a payment link is one of the store", importing.Orders, importtest.OneOrder(known).With("paymentLink", importtest.Fields{"id": theirLink.Id}), "paymentLink.id: is no payment link of the store"},
		{"an item's id is its own", importing.Orders, item("id", ourOrder["items"].([]importtest.Fields)[0]["id"]), "items[0].id: is another item's"},
		{"an item is at least one", importing.Orders, item("quantity", 0), "items[0].quantity: must be a whole number from 1"},
		{"an item has a title", importing.Orders, item("title", ""), "items[0].title: must be 1 to 200"},
		{"an item has a type", importing.Orders, item("type", "BOOK"), "items[0].type: "},
		{"an item's product has an id", importing.Orders, item("productId", "p"), "items[0].productId: must be a UUID"},
	}
	for _, row := range rows {
		_, err := b.Import(b.ctx, importtest.Lines(row.line), importing.Options{Kind: row.kind})
		var bad *importing.LineError
		require.ErrorAs(t, err, &bad, row.reason)
		require.Equal(t, 1, bad.Line, row.reason)
		require.Contains(t, bad.Problem, row.want, row.reason)
	}
	require.EqualValues(t, []string{"store.created", "store.created", "store.imported", "store.imported", "payment_link.created", "store.imported", "store.imported", "store.imported"},
		actions(b.journal()), "a refused line leaves no entry")
}

// Whatever a line holds, it is loaded or refused by its number.
func FuzzImportLine(f *testing.F) {
	for _, object := range []importtest.Fields{importtest.OneProduct(), importtest.OneCustomer(), importtest.OneOrder(importtest.OneCustomer()), {}, {"items": []importtest.Fields{{}}}} {
		text := make([]byte, importtest.Lines(object).Len())
		_, _ = importtest.Lines(object).Read(text)
		for kind := range 3 {
			f.Add(kind, text)
		}
	}
	f.Add(0, []byte("id,name"))
	f.Add(1, []byte("[1,2]"))
	f.Add(2, []byte(`{"customer":7,"paymentLink":{"id":""},"paidAt":"0001-01-01T00:00:00Z"}`))
	kinds := []importing.Kind{importing.Products, importing.Customers, importing.Orders}
	s := dbtest.New(f, dbtest.SQLite, db.Config{})
	rules := service.New(s, service.Options{})
	_, err := rules.CreateStore(context.Background(), tenant.Actor{Type: tenant.ActorOperator}, &adminv1.CreateStoreRequest{
		Name: "S", Slug: "s", Currency: "XAF", Country: "CM",
	})
	require.NoError(f, err)
	found, err := rules.FindStore(context.Background(), "s")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, kind int, text []byte) {
		_, err := importing.New(s).Import(as(found), bytes.NewReader(text), importing.Options{Kind: kinds[uint(kind)%3]})
		if err == nil {
			return
		}
		var bad *importing.LineError
		require.True(t, errors.As(err, &bad), "%v", err)
		require.Positive(t, bad.Line)
		require.NotEmpty(t, bad.Problem)
	})
}
