package importing_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/importing"
	"go.storefront.example/server/shop"
)

// storeOf is a store in a currency and a country.
func storeOf(t *testing.T, currency, country string) store {
	t.Helper()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	made, err := shop.New(d, shop.Options{}).CreateStore(t.Context(), tenant.Actor{Type: tenant.ActorOperator},
		&adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: currency, Country: country})
	require.NoError(t, err)
	return store{admin.New(d, admin.Options{}), made, t, d}
}

// notes are the problems of remarks with their lines.
func notes(all []*importing.Remark) []string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.Text("line")
	}
	return texts
}

// WooCommerce writes headers in the shop's language; a variable product has the lowest price of its variations.
func TestWooCommerceInFourLanguages(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"fr", "de", "es", "pt"} {
		s := storeOf(t, "EUR", "FR")
		done := s.load(options{Kind: importing.Products, From: "woocommerce"}, read(t, "woocommerce_products_"+language+".csv"))
		require.Equal(t, 2, done.Stored, language)
		products := by(s.products(), (*storefrontv1.Product).GetTitle)
		require.EqualValues(t, 4000, products["Guide"].GetPriceAmount(), language)
		require.EqualValues(t, 5000, products["Guide"].GetCompareAtAmount(), language)
		require.Equal(t, "Court", products["Guide"].GetSummary(), language)
		require.Equal(t, "https://cdn.example/a.png", products["Guide"].GetCoverUrl(), language)
		require.EqualValues(t, 7550, products["Cours"].GetPriceAmount(), language)
		require.Equal(t, []string{
			`left out: a variation is no product of its own; its product gets the lowest price of its variations ("variation, virtual"): lines 4–5`,
			`left out: a group of products has no price of its own ("grouped"): line 6`,
			`left out: it has no price, and the file has no variations of it ("Vide"): line 7`,
		}, notes(done.Notes), language)
	}
}

// WooCommerce writes 1 for what is published, 0 for what is private, -1 for a draft and 2 for what waits for a review.
func TestDraftsOfWooCommerceStayDrafts(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	s.load(options{Kind: importing.Products, From: "woocommerce"},
		[]byte("ID,Type,SKU,Name,Published,Regular "+
			"price\n1,simple,a,Live,1,3.00\n2,simple,b,Draft,-1,3.00\n3,simple,c,Waiting,2,3.00\n"))
	products := by(s.products(), (*storefrontv1.Product).GetTitle)
	require.Equal(t, storefrontv1.Product_PUBLISHED, products["Live"].GetStatus())
	require.Equal(t, storefrontv1.Product_DRAFT, products["Draft"].GetStatus())
	require.Equal(t, storefrontv1.Product_DRAFT, products["Waiting"].GetStatus())
}

// Rows that are no CSV are rejected with a reason that is, so that the file is read once the row is put right.
func TestRejectedRowsAreReadOncePutRight(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	var rejects bytes.Buffer
	done := s.load(options{Kind: importing.Products, SkipBad: true, Rejects: &rejects},
		[]byte("title,price\nSay \"hi,2.00\nTea,1.00\n"))
	require.Equal(t, []int{1, 1}, []int{done.Stored, done.Bad})
	done = s.load(options{Kind: importing.Products}, bytes.Replace(rejects.Bytes(), []byte(`Say "hi`), []byte("Say hi"), 1))
	require.Equal(t, 1, done.Stored)
}

func TestStatusesOfWooCommerce(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	done := s.load(options{Kind: importing.Orders, From: "woocommerce"}, read(t, "woocommerce_orders_words.csv"))
	require.Equal(t, 12, done.Stored)
	counts := map[string]int{}
	for _, o := range s.orders() {
		counts[o.GetStatus().String()]++
	}
	require.Equal(t, map[string]int{"PAID": 7, "REFUNDED": 1, "CANCELLED": 1, "FAILED": 1, "PENDING": 2}, counts)
	require.Equal(t, []string{`left out: an unfinished checkout is no order ("checkout-draft"): line 14`}, notes(done.Notes))
	require.Equal(t, []string{"Guide"}, done.Titles)
}

// A shop in Lagos: another currency and an order at the till are one row's trouble each, a foreign phone none.
func TestShopifyOfAShopInLagos(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "NGN", "NG")
	s.load(options{Kind: importing.Products, From: "shopify"}, read(t, "shopify_products_lagos.csv"))
	soap := by(s.products(), (*storefrontv1.Product).GetSlug)["shea-soap"]
	require.EqualValues(t, 1_550_000, soap.GetPriceAmount())
	s.load(options{Kind: importing.Customers, From: "shopify"}, read(t, "shopify_customers_lagos.csv"))
	require.Equal(t, "+12125550154", by(s.customers(), (*storefrontv1.Customer).GetName)["Carl Ray"].GetPhone())

	text := read(t, "shopify_orders_lagos.csv")
	_, err := s.try(options{Kind: importing.Orders, From: "shopify"}, text)
	require.Error(t, err)
	require.Empty(t, s.orders())
	var rejects bytes.Buffer
	done := s.load(options{Kind: importing.Orders, From: "shopify", SkipBad: true, Rejects: &rejects}, text)
	require.Equal(t, []int{5, 3, 2}, []int{done.Lines, done.Stored, done.Bad})
	require.Equal(t, []string{
		`Email is required, or a phone: an order without a buyer, such as one at a till, cannot be kept: line 5`,
		`Currency must be NGN, the store's currency, not "USD": line 7`,
	}, notes(done.Problems))
	require.Equal(t, []string{`Financial Status is stored as PAID with the full total; what was refunded is lost ("5000.00"): line 4`}, notes(done.Notes))
	require.Equal(t, 3, bytes.Count(rejects.Bytes(), []byte("\n")))
	first := by(s.orders(), (*storefrontv1.Order).GetReference)["#2001"]
	require.Equal(t, soap.GetId(), first.GetItems()[0].GetProductId(), "by its title, to which the variant is appended")
	require.Equal(t, []string{"Gift card"}, done.Titles)
}

func TestStripe(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "USD", "US")
	done := s.load(options{Kind: importing.Customers, From: "stripe", SkipBad: true}, read(t, "stripe_customers.csv"))
	require.Equal(t, []int{2, 1}, []int{done.Stored, done.Bad})
	elena := by(s.customers(), (*storefrontv1.Customer).GetName)["Elena Vasquez"]
	require.EqualValues(t, 4995, elena.GetTotalPaid())
	require.EqualValues(t, 2, elena.GetOrdersCount())
	_, err := s.try(options{Kind: importing.Orders, From: "stripe"}, nil)
	require.ErrorIs(t, err, importing.ErrOptions)
}

// A French spreadsheet: semicolons, Windows-1252, decimal commas, dates and phones as they are written there.
func TestAFrenchSpreadsheet(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	done := s.load(options{Kind: importing.Customers}, read(t, "french_customers.csv"))
	require.Equal(t, []string{"Nom as name", "E-mail", "Téléphone as phone", "Date as createdAt"}, done.Read)
	require.Equal(t, []string{"Adresse"}, done.NotRead)
	elodie := by(s.customers(), (*storefrontv1.Customer).GetName)["Élodie Ngo"]
	require.Equal(t, "+33698765432", elodie.GetPhone())
	require.Equal(t, "2025-11-21", elodie.GetCreatedAt().AsTime().Format("2006-01-02"))
	s.load(options{Kind: importing.Products}, read(t, "french_products.csv"))
	prices := by(s.products(), (*storefrontv1.Product).GetTitle)
	require.EqualValues(t, 1250, prices["Café moulu"].GetPriceAmount())
	require.EqualValues(t, 123450, prices["Thé"].GetPriceAmount())
	done = s.load(options{Kind: importing.Customers}, []byte("Naem;E-mail\nA;a@example.com\n"))
	require.Equal(t, []string{"Naem (did you mean name?)"}, done.NotRead)
}

func TestDatesAndPhonesThatAFileLeavesOpen(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "KWD", "KW")
	text := []byte("email,phone,createdAt\na@example.com,06 12 34 56 78,01/02/2026\n")
	_, err := s.try(options{Kind: importing.Customers}, text)
	require.ErrorContains(t, err, "createdAt can be read in two ways: say which with --date-format DD/MM/YYYY or MM/DD/YYYY")
	s.load(options{Kind: importing.Customers, DateFormat: "DD/MM/YYYY", Country: "FR"}, text)
	c := s.customers()[0]
	require.Equal(t, "+33612345678", c.GetPhone())
	require.Equal(t, "2026-02-01", c.GetCreatedAt().AsTime().Format("2006-01-02"))
	_, err = s.try(options{Kind: importing.Customers, DateFormat: "day/month"}, text)
	require.ErrorIs(t, err, importing.ErrOptions)
}

func TestFilesOfWhichNothingCanBeImported(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	for text, want := range map[string]string{
		"PK\x03\x04\x14\x00":        "the file is an Excel workbook (or another ZIP file): save the sheet as CSV",
		"":                          "the file is empty: there is nothing to import",
		"\x01\x02\x00\x03":          "the file is no text: import a CSV file",
		"email,name\n":              "the file has a header and no line below it: there is nothing to import",
		"\x1f\x8b\x08":              "the file is compressed: `gunzip -c FILE",
		"Naem,Emial\nA,a@x.com":     "the file has no column for email or phone; did you mean email by Emial?",
		"[]":                        "nothing to import",
		"email;name\n\n;\n \n;  \n": "nothing to import",
	} {
		_, err := s.try(options{Kind: importing.Customers}, []byte(text))
		var whole *importing.FileError
		require.ErrorAs(t, err, &whole, "%q", text)
		require.Contains(t, err.Error(), want)
	}
}
