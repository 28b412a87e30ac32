package importfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/transfer"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return text
}

// s.twice requires that a second import of an export, after a dry run, changes nothing.
func (s store) twice(from string, kind kind, text []byte, stored int) {
	s.t.Helper()
	o := options{Kind: kind, From: from, DryRun: true}
	dry := s.load(o, text)
	o.DryRun = false
	first := s.load(o, text)
	require.Equal(s.t, first, dry, "a dry run reports what the run does")
	require.Equal(s.t, stored, first.Stored)
	before := s.state()
	again := s.load(o, text)
	require.Zero(s.t, again.Stored)
	require.Equal(s.t, first.Lines, again.Skipped+again.Repeated+again.LeftOut)
	require.Equal(s.t, before, s.state(), "nothing is changed")
}

func (s store) state() []any {
	entries, err := s.db.Client().ActivityEntry.Query().Count(context.Background())
	require.NoError(s.t, err)
	events, err := s.db.Client().Event.Query().Count(context.Background())
	require.NoError(s.t, err)
	return []any{texts(s.products()), texts(s.customers()), texts(s.orders()), entries, events}
}

func texts[M interface{ String() string }](messages []M) []string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = m.String()
	}
	return all
}

func by[M any](all []M, key func(M) string) map[string]M {
	found := map[string]M{}
	for _, m := range all {
		found[key(m)] = m
	}
	return found
}

func TestShopify(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		s.twice("shopify", transfer.Products, read(t, "shopify_products.csv"), 3)
		products := by(s.products(), (*storefrontv1.Product).GetSlug)
		guide := products["guide-du-marche"]
		require.Equal(t, "Guide du marché", guide.GetTitle())
		require.Equal(t, "<p>All of it,\non two lines</p>", guide.GetDescription())
		require.EqualValues(t, 5000, guide.GetPriceAmount(), "the first variant's")
		require.EqualValues(t, 9000, guide.GetCompareAtAmount())
		require.Equal(t, "https://cdn.example/guide.png", guide.GetCoverUrl())
		require.Equal(t, storefrontv1.Product_PUBLISHED, guide.GetStatus())
		require.NotNil(t, guide.GetPublishedAt())
		require.Nil(t, products["cours"].CompareAtAmount, "0.00 is none")
		require.Equal(t, storefrontv1.Product_ARCHIVED, products["old"].GetStatus())

		s.twice("shopify", transfer.Customers, read(t, "shopify_customers.csv"), 2)
		customers := by(s.customers(), (*storefrontv1.Customer).GetName)
		require.Equal(t, "awa@example.com", customers["Awa Ngo"].GetEmail())
		require.Equal(t, "+237670000001", customers["Awa Ngo"].GetPhone())
		require.EqualValues(t, 7000, customers["Awa Ngo"].GetTotalPaid())
		require.Equal(t, "+237670000002", customers["Ben"].GetPhone())

		s.twice("shopify", transfer.Orders, read(t, "shopify_orders.csv"), 3)
		orders := by(s.orders(), (*storefrontv1.Order).GetReference)
		first := orders["#1001"]
		require.Equal(t, customers["Awa Ngo"].GetId(), first.GetCustomer().GetId(), "found by the e-mail")
		require.EqualValues(t, 6000, first.GetAmount())
		require.Len(t, first.GetItems(), 2)
		require.EqualValues(t, 2, first.GetItems()[1].GetQuantity())
		require.Equal(t, "2026-01-31T14:04:05Z", first.GetPaidAt().AsTime().Format("2006-01-02T15:04:05Z07:00"))
		require.Equal(t, storefrontv1.Order_REFUNDED, orders["#1002"].GetStatus())
		require.Equal(t, storefrontv1.Order_CANCELLED, orders["#1003"].GetStatus())
		customers = by(s.customers(), (*storefrontv1.Customer).GetName)
		require.EqualValues(t, 1, customers["Awa Ngo"].GetOrdersCount())
		require.EqualValues(t, 6000, customers["Awa Ngo"].GetTotalPaid())
		require.EqualValues(t, 2, customers["New Buyer"].GetOrdersCount(), "one customer for two orders")
		require.Zero(t, customers["New Buyer"].GetTotalPaid())
		require.Len(t, customers, 3)
	})
}

func TestWooCommerce(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	s.twice("woocommerce", transfer.Products, read(t, "woocommerce_products.csv"), 3)
	products := by(s.products(), (*storefrontv1.Product).GetTitle)
	require.EqualValues(t, 4000, products["Guide"].GetPriceAmount())
	require.EqualValues(t, 5000, products["Guide"].GetCompareAtAmount())
	require.Equal(t, "Short & sweet", products["Guide"].GetSummary())
	require.Equal(t, "<p>Long</p>\n<p>text</p>", products["Guide"].GetDescription())
	require.Equal(t, "https://cdn.example/a.png", products["Guide"].GetCoverUrl())
	require.Nil(t, products["Draft"].CompareAtAmount)
	s.twice("woocommerce", transfer.Customers, read(t, "woocommerce_customers.csv"), 1)
	s.twice("woocommerce", transfer.Orders, []byte(string(read(t, "woocommerce_orders.csv"))), 2)
	orders := by(s.orders(), (*storefrontv1.Order).GetReference)
	require.Equal(t, storefrontv1.Order_FAILED, orders["56"].GetStatus())
	require.EqualValues(t, 4000, orders["55"].GetItems()[0].GetUnitAmount())
	require.Equal(t, products["Guide"].GetId(), orders["55"].GetItems()[0].GetProductId(), "one's own ids link the files")
	require.Equal(t, "Awa Ngo", orders["55"].GetCustomer().GetName())
	require.Len(t, s.customers(), 1)
}

func TestGumroad(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	rules := shop.New(d, shop.Options{})
	made, err := rules.CreateStore(t.Context(), tenant.Actor{Type: tenant.ActorOperator}, &adminv1.CreateStoreRequest{Name: "S",
		Slug: "s", Currency: "USD", Country: "US"})
	require.NoError(t, err)
	s := store{admin.New(d, admin.Options{}), made, t, d}
	sales := read(t, "gumroad_sales.csv")
	s.twice("gumroad", transfer.Products, sales, 1)
	s.twice("gumroad", transfer.Customers, sales, 1)
	s.twice("gumroad", transfer.Orders, sales, 2)
	require.EqualValues(t, 1000, s.products()[0].GetPriceAmount())
	orders := by(s.orders(), (*storefrontv1.Order).GetReference)
	require.Equal(t, storefrontv1.Order_REFUNDED, orders["def=="].GetStatus())
	require.EqualValues(t, 1950, orders["def=="].GetAmount())
	require.Equal(t, "2026-01-02T10:11:12Z", orders["abc=="].GetCreatedAt().AsTime().Format("2006-01-02T15:04:05Z07:00"))
	require.Equal(t, s.products()[0].GetId(), orders["abc=="].GetItems()[0].GetProductId())
	require.EqualValues(t, 1000, s.customers()[0].GetTotalPaid())
}

// A file may have only two columns, with or without an id, under names that --map reads.
func TestColumnsOfOnesOwn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		s.twice("", transfer.Products, []byte("title,price\nGuide,500\nGuide !,700\n日本,9\n"), 3)
		slugs := by(s.products(), (*storefrontv1.Product).GetSlug)
		require.Contains(t, slugs, "guide")
		require.Len(t, slugs, 3, "a slug that is taken gets an end")
		done := s.load(options{
			Kind: transfer.Products, Columns: []column{{"Preis", "price"}, {"Titel", "title"}, {"Nr", "id"}, {"status", ""}},
			Type: storefrontv1.Product_COURSE,
		}, []byte("Nr;Titel;Preis;status\n1;Guide;500;sold\n2;Guide;600;sold\n1;Guide;500;sold\n"))
		require.Equal(t, 2, done.Stored)
		require.Equal(t, 1, done.Repeated)
		require.Equal(t, storefrontv1.Product_COURSE, s.products()[0].GetType())

		s.load(options{Kind: transfer.Customers, Columns: []column{{"Mobil", "phone"}, {"Festnetz", "phone"}, {"Büro", "phone"}}},
			[]byte("email,Büro,Festnetz,Mobil\nc@example.com,+237670000004,+237670000003,+237670000002\n"))
		require.Equal(t, "+237670000002", s.customers()[0].GetPhone(), "the first that --map names")

		s.twice("", transfer.Orders,
			[]byte("reference,status,email,itemTitle,itemPrice,itemQuantity\nR1,PAID,a@example.com,Guide,500,2\nR1,,,Guide "+
				"!,700,\nR2,PENDING,a@example.com,Guide,500,1\n"), 2)
		first := by(s.orders(), (*storefrontv1.Order).GetReference)["R1"]
		require.EqualValues(t, 1700, first.GetAmount(), "the sum of its items")
		require.Equal(t, slugs["guide"].GetId(), first.GetItems()[0].GetProductId(), "a title is the product without an id")
	})
}

// Such as an order with an id of its own, or a title with a number.
func TestRowsThatLookLikeOthers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		s.twice("", transfer.Products, []byte("title,price,createdAt\n'90s Hits,500,2026-01-31 15:04:05 UTC\n"), 1)
		require.Equal(t, "'90s Hits", s.products()[0].GetTitle())
		require.Equal(t, "2026-01-31T15:04:05Z", s.products()[0].GetCreatedAt().AsTime().Format(time.RFC3339))
		s.twice("", transfer.Orders, []byte("id,reference,status,email,phone,total,itemTitle,itemTotal,itemQuantity\n"+
			"1,R1,PAID,a@example.com,'+237670000001,,Guide,1000,3\n1,,,,,,Box,7,\n2,,PAID,b@example.com,,20,,,\n"), 2)
		orders := by(s.orders(), (*storefrontv1.Order).GetReference)
		require.EqualValues(t, 1007, orders["R1"].GetAmount(), "the sum of what its items cost")
		require.Len(t, orders["R1"].GetItems(), 2)
		require.EqualValues(t, 20, orders["2"].GetAmount(), "an id of its own makes a line another order")
		s.twice("", transfer.Orders,
			[]byte("id,status,email,itemTitle,itemPrice\n7,PAID,a@example.com,Guide,1000\n7,PAID,a@example.com,Box,7\n8,PAID,a@example.com,Box,7\n"), 2)
		require.EqualValues(t, 1007, by(s.orders(), (*storefrontv1.Order).GetReference)["7"].GetAmount(),
			"lines with the id of one order")
		s.load(options{Kind: transfer.Products}, []byte("title,price\n12\" vinyl,9\nSay \"hi\",8\n\"a\"\"b\",7\n"))
		titles := by(s.products(), (*storefrontv1.Product).GetTitle)
		for title, price := range map[string]int64{`12" vinyl`: 9, `Say "hi"`: 8, `a"b`: 7} {
			require.EqualValues(t, price, titles[title].GetPriceAmount(), "a quote within a value is a letter")
		}
		// The file joins two exports of overlapping months, which both have the order A.
		again := s.load(options{Kind: transfer.Orders},
			[]byte("reference,status,email,total\nA,PAID,a@example.com,5\nB,PAID,a@example.com,6\nA,PAID,a@example.com,5\n"))
		require.Equal(t, 2, again.Stored)
		require.Equal(t, 1, again.Repeated)
	})
}

// In two spellings, and in several batches.
func TestADryRunReadsIdentifiersAsTheImportDoes(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	var text strings.Builder
	text.WriteString("id,email,phone\n1,Élodie@example.com,670000001\n")
	for i := range transfer.BatchRows {
		_, _ = fmt.Fprintf(&text, "%d,buyer%d@example.com,\n", i+2, i)
	}
	text.WriteString("a,,+237 670 00 00 01\nb,E\u0301LODIE@example.com,\n")
	s.twice("", transfer.Customers, []byte(text.String()), transfer.BatchRows+1)
}

// It recognizes the customers that orders of earlier batches would have created.
func TestADryRunKnowsTheCustomersOfOrders(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("reference,status,total,customer,email\n")
	for i := range transfer.BatchRows {
		_, _ = fmt.Fprintf(&text, "R%d,PAID,1,5f0c3c3e-0000-4000-8000-000000000001,awa@example.com\n", i)
	}
	for last, want := range map[string]string{
		"5F0C3C3E-0000-4000-8000-000000000001,":                "", // the id that a customer of the first batch has in lower case
		"5f0c3c3e-0000-4000-8000-000000000001,o@example.com":   "",
		"5f0c3c3e-0000-4000-8000-000000000002,AWA@example.com": "",
		"5f0c3c3e-0000-4000-8000-000000000002,": "customer is no customer of the store, and without an e-mail or a " +
			"phone none can be made",
	} {
		for _, dry := range []bool{true, false} {
			s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
			done, err := s.try(options{Kind: transfer.Orders, DryRun: dry}, []byte(text.String()+"X,PAID,1,"+last+"\n"))
			if want == "" {
				require.NoError(t, err, "%s, dry run: %t", last, dry)
				require.Equal(t, transfer.BatchRows+1, done.Stored)
				continue
			}
			require.ErrorContains(t, err, want, "dry run: %t", dry)
		}
	}
}

// away fails after a.left more calls of ImportCustomers.
type away struct {
	importfile.API
	left int
}

var errAway = errors.New("the server is away")

func (a *away) ImportCustomers(ctx context.Context, in *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error) {
	if a.left--; a.left < 0 {
		return nil, errAway
	}
	return a.API.ImportCustomers(ctx, in)
}

func TestAnImportIsContinued(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		text := tables(1200)[transfer.Customers]
		o := options{Store: s.Store, Kind: transfer.Customers}
		const checked = 3
		done, err := importfile.Load(t.Context(), &away{s, checked + 2}, bytes.NewReader(text), o)
		require.ErrorIs(t, err, errAway)
		require.Equal(t, 1000, done.Stored)
		require.Len(t, s.customers(), 1000)
		done = s.load(o, text)
		require.Equal(t, []int{1200, 200, 1000}, []int{done.Lines, done.Stored, done.Skipped})
		require.Len(t, s.customers(), 1200)
	})
}
