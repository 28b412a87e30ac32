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
	"go.storefront.example/server/importing/file"
	"go.storefront.example/server/importing/importtest"
	"go.storefront.example/server/service"
	"go.storefront.example/server/service/servicetest"
)

func TestImportRefusesALine(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	other := b
	other.Ctx = b.NewStore("other")
	theirs, known := importtest.OneCustomer(), importtest.OneCustomer().With("phone", "+237670000001")
	other.load(file.Customers, theirs)
	theirProduct, ourProduct, ourOrder := importtest.OneProduct(), importtest.OneProduct(), importtest.OneOrder(known)
	other.load(file.Products, theirProduct)
	theirLink := other.Link(nil)
	b.load(file.Customers, known)
	b.load(file.Products, ourProduct)
	b.load(file.Orders, ourOrder)
	item := func(name string, value any) importtest.Fields {
		o := importtest.OneOrder(known)
		return o.With("items", []importtest.Fields{o["items"].([]importtest.Fields)[0].With(name, value)})
	}
	customer := func(c importtest.Fields) importtest.Fields { return importtest.OneOrder(known).With("customer", c) }

	rows := []struct {
		reason string
		kind   file.Kind
		line   importtest.Fields
		want   string
	}{
		{"an id of another store is not ours to keep", file.Products, importtest.OneProduct().With("id", theirProduct["id"]), "id: belongs to another store"},
		{"a title is needed", file.Products, importtest.OneProduct().Without("title"), "title: must be 1 to 200 characters long"},
		{"a slug stands in an address as it is", file.Products, importtest.OneProduct().With("slug", "a b"), "slug: must stand in an address as it is"},
		{"a slug names one product", file.Products, importtest.OneProduct().With("slug", ourProduct["slug"]), "slug: is another product's"},
		{"a price is needed", file.Products, importtest.OneProduct().Without("priceAmount"), "priceAmount: is required"},
		{"types are a set", file.Products, importtest.OneProduct().With("type", "BOOK"), "type: "},
		{"amounts start at 0", file.Products, importtest.OneProduct().With("priceAmount", -1), "priceAmount: "},
		{"amounts fit a JavaScript number", file.Products, importtest.OneProduct().With("priceAmount", int64(1)<<53).With("compareAtAmount", nil), "priceAmount: "},
		{"a reference price is above the price", file.Products, importtest.OneProduct().With("compareAtAmount", 500), "compareAtAmount: must be above priceAmount"},
		{"amounts are in the store's currency", file.Products, importtest.OneProduct().With("currency", "EUR"), "currency: must be XAF, the store's currency"},
		{"addresses are http or https", file.Products, importtest.OneProduct().With("coverUrl", "ftp://x/y"), "coverUrl: must be an http or https address"},
		{"a date is a date", file.Products, importtest.OneProduct().With("updatedAt", "yesterday"), "updatedAt: "},
		{"texts hold no control characters", file.Products, importtest.OneProduct().With("summary", "a\u0007b"), "summary: must not hold control characters"},
		{"unknown importtest.Fields are misspelt ones", file.Products, importtest.OneProduct().With("price", 5), "price: is not a known field"},
		{"every refused field is named", file.Products, importtest.OneProduct().With("title", 5).With("currency", "EUR").With("url", "x"), "title: must be a string; currency: must be XAF, the store's currency; url: must be an http"},

		{"a customer is identified", file.Customers, importtest.OneCustomer().With("email", nil), "email: is required, or a phone"},
		{"e-mails are addresses", file.Customers, importtest.OneCustomer().With("email", "awa"), "email: must be an e-mail address"},
		{"phones are possible numbers", file.Customers, importtest.OneCustomer().With("phone", "12"), "phone: "},
		{"an e-mail is one customer's, whatever its case", file.Customers, importtest.OneCustomer().With("email", strings.ToUpper(known["email"].(string))), "email: is another customer's"},
		{"a phone is one customer's, however it is written", file.Customers, importtest.OneCustomer().With("phone", "670 00 00 01"), "phone: is another customer's"},
		{"counters start at 0", file.Customers, importtest.OneCustomer().With("ordersCount", -1), "ordersCount: "},
		{"counters are whole", file.Customers, importtest.OneCustomer().With("totalPaid", 1.5), "totalPaid: "},
		{"an id of another store is not ours to keep", file.Customers, importtest.OneCustomer().With("id", theirs["id"]), "id: belongs to another store"},

		{"a reference names one order", file.Orders, importtest.OneOrder(known).With("reference", ourOrder["reference"]), "reference: is another order's"},
		{"a reference is needed", file.Orders, importtest.OneOrder(known).With("reference", " "), "reference: is required"},
		{"an order that was not paid was never", file.Orders, importtest.OneOrder(known).With("status", "FAILED"), "paidAt: must be null for an order that was not paid"},
		{"a fee is a percentage", file.Orders, importtest.OneOrder(known).With("platformFeePercent", 100.5), "platformFeePercent: must be a percentage"},
		{"an order has a customer", file.Orders, importtest.OneOrder(known).With("customer", nil), "customer"},
		{"a customer of another store cannot buy", file.Orders, importtest.OneOrder(theirs), "customer.id: belongs to another store"},
		{"a new customer is identified", file.Orders, customer(importtest.Fields{"id": uuid.NewString(), "name": "A"}), "customer.id: is no customer of the store"},
		{"a new customer's e-mail is its own", file.Orders, customer(importtest.Fields{"id": uuid.NewString(), "name": "A", "email": known["email"]}), "customer.email: is another customer's"},
		{"a payment link is one of the store", file.Orders, importtest.OneOrder(known).With("paymentLink", importtest.Fields{"id": theirLink.Id}), "paymentLink.id: is no payment link of the store"},
		{"an item's id is its own", file.Orders, item("id", ourOrder["items"].([]importtest.Fields)[0]["id"]), "items[0].id: is another item's"},
		{"an item is at least one", file.Orders, item("quantity", 0), "items[0].quantity: must be a whole number from 1"},
		{"an item has a title", file.Orders, item("title", ""), "items[0].title: must be 1 to 200"},
		{"an item has a type", file.Orders, item("type", "BOOK"), "items[0].type: "},
	}
	for _, row := range rows {
		_, err := importtest.Load(b.Ctx, b.Importer, importtest.Lines(row.line), file.Options{Kind: row.kind})
		var bad *file.BadLinesError
		require.ErrorAs(t, err, &bad, row.reason)
		require.Equal(t, 1, bad.First[0].Line, row.reason)
		require.Contains(t, bad.Error(), row.want, row.reason)
	}
	require.ElementsMatch(t, []string{"store.created", "store.created", "store.imported", "store.imported", "payment_link.created", "store.imported", "store.imported", "store.imported"},
		servicetest.Actions(b.Journal()), "a refused line leaves no entry")
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
	kinds := []file.Kind{file.Products, file.Customers, file.Orders}
	s := dbtest.New(f, dbtest.SQLite, db.Config{})
	rules := service.New(s, service.Options{})
	_, err := rules.CreateStore(context.Background(), tenant.Actor{Type: tenant.ActorOperator}, &adminv1.CreateStoreRequest{
		Name: "S", Slug: "s", Currency: "XAF", Country: "CM",
	})
	require.NoError(f, err)
	found, err := rules.FindStore(context.Background(), "s")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, kind int, text []byte) {
		_, err := importtest.Load(servicetest.As(found), importing.New(s), bytes.NewReader(text), file.Options{Kind: kinds[uint(kind)%3]})
		if err == nil {
			return
		}
		var bad *file.BadLinesError
		require.True(t, errors.As(err, &bad), "%v", err)
		require.Positive(t, bad.First[0].Line)
		require.NotEmpty(t, bad.Error())
	})
}
