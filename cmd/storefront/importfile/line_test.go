package importfile_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer/transfertest"
)

func TestImportRefusesALine(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	other := b
	other.Ctx = b.NewStore("other")
	theirs, known := transfertest.OneCustomer(), transfertest.OneCustomer().With("phone", "+237670000001")
	other.load(customers, theirs)
	theirProduct, ourProduct, ourOrder := transfertest.OneProduct(), transfertest.OneProduct(), transfertest.OneOrder(known)
	other.load(products, theirProduct)
	theirLink := other.Link(nil)
	b.load(customers, known)
	b.load(products, ourProduct)
	b.load(orders, ourOrder)
	item := func(name string, value any) transfertest.Fields {
		o := transfertest.OneOrder(known)
		return o.With("items", []transfertest.Fields{o["items"].([]transfertest.Fields)[0].With(name, value)})
	}
	customer := func(c transfertest.Fields) transfertest.Fields {
		return transfertest.OneOrder(known).With("customer", c)
	}

	rows := []struct {
		reason string
		kind   kind
		line   transfertest.Fields
		want   string
	}{
		{"an id of another store is not ours to keep", products, transfertest.OneProduct().With("id", theirProduct["id"]),
			"id belongs to another store"},
		{"a title is needed", products, transfertest.OneProduct().Without("title"), "title must be 1 to 200 characters long"},
		{"a slug stands in an address as it is", products, transfertest.OneProduct().With("slug", "a b"),
			"slug must stand in an address as it is"},
		{"a slug names one product", products, transfertest.OneProduct().With("slug", ourProduct["slug"]), "slug is another product's"},
		{"a price is needed", products, transfertest.OneProduct().Without("priceAmount"), "priceAmount is required"},
		{"types are a set", products, transfertest.OneProduct().With("type", "BOOK"), "type "},
		{"amounts start at 0", products, transfertest.OneProduct().With("priceAmount", -1), "priceAmount "},
		{"amounts fit a JavaScript number", products, transfertest.OneProduct().With("priceAmount", int64(1)<<53).With("compareAtAmount",
			nil), "priceAmount "},
		{"a reference price is above the price", products, transfertest.OneProduct().With("compareAtAmount", 500),
			"compareAtAmount must be above priceAmount"},
		{"amounts are in the store's currency", products, transfertest.OneProduct().With("currency", "EUR"),
			"currency must be XAF, the store's currency"},
		{"addresses are http or https", products, transfertest.OneProduct().With("coverUrl", "ftp://x/y"),
			"coverUrl must be an http or https address"},
		{"a date is a date", products, transfertest.OneProduct().With("updatedAt", "yesterday"), "updatedAt "},
		{"texts hold no control characters", products, transfertest.OneProduct().With("summary", "a\u0007b"),
			"summary must not hold control characters"},
		{"unknown transfertest.Fields are misspelt ones", products, transfertest.OneProduct().With("prize", 5),
			"prize is not a known field"},
		{"every refused field is named", products, transfertest.OneProduct().With("title", "").With("currency", "EUR").With("url", "x"),
			"currency must be XAF, the store's currency; title must be 1 to 200 characters long; url must be an http"},

		{"a customer is identified", customers, transfertest.OneCustomer().With("email", nil), "email is required, or a phone"},
		{"e-mails are addresses", customers, transfertest.OneCustomer().With("email", "awa"), "email must be an e-mail address"},
		{"phones are numbers", customers, transfertest.OneCustomer().With("phone", "12").With("email", nil), "phone "},
		{"counters start at 0", customers, transfertest.OneCustomer().With("ordersCount", -1), "ordersCount "},
		{"counters are whole", customers, transfertest.OneCustomer().With("totalPaid", 1.5), "totalPaid "},
		{"an id of another store is not ours to keep", customers, transfertest.OneCustomer().With("id", theirs["id"]),
			"id belongs to another store"},

		{"a reference names one order", orders, transfertest.OneOrder(known).With("reference", ourOrder["reference"]),
			"reference is another order's"},
		{"an order that was not paid was never", orders, transfertest.OneOrder(known).With("status", "FAILED"),
			"paidAt must be null for an order that was not paid"},
		{"a fee is a percentage", orders, transfertest.OneOrder(known).With("platformFeePercent", 100.5),
			"platformFeePercent must be a percentage"},
		{"an order has a customer", orders, transfertest.OneOrder(known).With("customer", nil), "customer"},
		{"a customer of another store cannot buy", orders, transfertest.OneOrder(theirs), "customer.id belongs to another store"},
		{"a new customer is identified", orders, customer(transfertest.Fields{"id": uuid.NewString(), "name": "A"}),
			"customer.id is no customer of the store"},
		{"a payment link is one of the store", orders, transfertest.OneOrder(known).With("paymentLink",
			transfertest.Fields{"id": theirLink.Id}), "paymentLink.id is no payment link of the store"},
		{"an item's id is its own", orders, item("id", ourOrder["items"].([]transfertest.Fields)[0]["id"]),
			"items[0].id is another item's"},
		{"an item is at least one", orders, item("quantity", 0), "items[0].quantity must be a whole number from 1"},
		{"an item has a title", orders, item("title", ""), "items[0].title is required: the item has no title and no SKU"},
		{"an item has a type", orders, item("type", "BOOK"), "items[0].type "},
	}
	for _, row := range rows {
		_, err := load(b.Ctx, b.DB, transfertest.Lines(row.line), options{Kind: row.kind})
		var bad *importfile.BadLinesError
		require.ErrorAs(t, err, &bad, row.reason)
		all := make([]string, len(bad.Report.Problems))
		for i, p := range bad.Report.Problems {
			require.Equal(t, [][2]int{{1, 1}}, p.Lines, row.reason)
			all[i] = p.Column + " " + p.Problem
		}
		require.Contains(t, strings.Join(all, "; "), row.want, row.reason)
	}
	require.ElementsMatch(t, []string{"store.created", "store.created", "store.imported", "store.imported", "payment_link.created",
		"store.imported", "store.imported", "store.imported"},
		shoptest.Actions(b.Journal()), "a refused line leaves no entry")
}

func FuzzImportLine(f *testing.F) {
	for _, object := range []transfertest.Fields{transfertest.OneProduct(), transfertest.OneCustomer(),
		transfertest.OneOrder(transfertest.OneCustomer()), {}, {"items": []transfertest.Fields{{}}}} {
		text := make([]byte, transfertest.Lines(object).Len())
		_, _ = transfertest.Lines(object).Read(text)
		for kind := range 3 {
			f.Add(kind, text)
		}
	}
	f.Add(0, []byte("id,name"))
	f.Add(1, []byte("[1,2]"))
	f.Add(2, []byte(`{"customer":7,"paymentLink":{"id":""},"paidAt":"0001-01-01T00:00:00Z"}`))
	kinds := []kind{products, customers, orders}
	d := dbtest.New(f, dbtest.SQLite, db.Config{})
	rules := shop.New(d, shop.Options{})
	_, err := rules.CreateStore(context.Background(), tenant.Actor{Type: tenant.ActorOperator}, &adminv1.CreateStoreRequest{
		Name: "S", Slug: "s", Currency: "XAF", Country: "CM",
	})
	require.NoError(f, err)
	found, err := rules.FindStore(context.Background(), "s")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, kind int, text []byte) {
		_, err := load(shoptest.WithStore(found), d, bytes.NewReader(text), options{Kind: kinds[uint(kind)%3]})
		if err == nil {
			return
		}
		var bad *importfile.BadLinesError
		if _, whole := errors.AsType[*importfile.FileError](err); !whole {
			require.True(t, errors.As(err, &bad), "%v", err)
			require.Positive(t, bad.Report.Problems[0].Lines[0][0])
		}
		require.NotEmpty(t, err.Error())
	})
}
