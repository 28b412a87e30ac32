package importfile_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
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

func storeOf(t *testing.T, currency, country string) store {
	t.Helper()
	return storeOn(t, dbtest.New(t, dbtest.SQLite, db.Config{}), currency, country)
}

func storeOn(t *testing.T, d *db.DB, currency, country string) store {
	t.Helper()
	made, err := shop.New(d, shop.Options{}).CreateStore(t.Context(), tenant.Actor{Type: tenant.ActorOperator},
		&adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: currency, Country: country})
	require.NoError(t, err)
	return store{admin.New(d, admin.Options{}), made, t, d}
}

func notes(all []*importfile.Remark) []string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.Text("line")
	}
	return texts
}

// A variable product gets the lowest price of its variations.
func TestWooCommerceInFourLanguages(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"fr", "de", "es", "pt"} {
		s := storeOf(t, "EUR", "FR")
		done := s.load(options{Kind: transfer.Products, From: "woocommerce"}, read(t, "woocommerce_products_"+language+".csv"))
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
			`left out: it has no price, and the file has no published variation of it ("Vide"): line 7`,
		}, notes(done.Notes), language)
	}
}

// A sale price counts during the sale, and a variation's if it can be bought. WooCommerce writes 1 for published, 0 for
// private, -1 for a draft and 2 for one that waits for a review.
func TestPricesAndDraftsOfWooCommerce(t *testing.T) {
	t.Parallel()
	const header = "ID,Type,Name,Published,Sale price,Regular price,Date sale price starts,Date sale price ends,Parent\n"
	for _, row := range []struct {
		reason, lines string
		price         int64
		status        storefrontv1.Product_Status
		problem       string
	}{
		{"a sale without dates", "1,simple,A,1,3.00,5.00,,,\n", 300, storefrontv1.Product_PUBLISHED, ""},
		{"a sale that is on", "1,simple,A,1,3.00,5.00,2020-01-01,2999-01-01,\n", 300, storefrontv1.Product_PUBLISHED, ""},
		{"a sale that has ended", "1,simple,A,1,3.00,5.00,,2020-01-01,\n", 500, storefrontv1.Product_PUBLISHED, ""},
		{"a sale that is to come", "1,simple,A,1,3.00,5.00,2999-01-01 00:00:00,,\n", 500, storefrontv1.Product_PUBLISHED, ""},
		{"a private product", "1,simple,A,0,,5.00,,,\n", 500, storefrontv1.Product_DRAFT, ""},
		{"a draft", "1,simple,A,-1,,5.00,,,\n", 500, storefrontv1.Product_DRAFT, ""},
		{"a product that waits", "1,simple,A,2,,5.00,,,\n", 500, storefrontv1.Product_DRAFT, ""},
		{"the lowest price of the variations", "1,variable,A,1,,,,,\n2,variation,A - S,1,,5.00,,,id:1\n3,variation,A - M,1,,4.00,,,id:1\n",
			400, storefrontv1.Product_PUBLISHED, ""},
		{"a variation that is private", "1,variable,A,1,,,,,\n2,variation,A - S,0,,4.00,,,id:1\n3,variation,A - M,1,,5.00,,,id:1\n",
			500, storefrontv1.Product_PUBLISHED, ""},
		{"a variation whose sale has ended",
			"1,variable,A,1,,,,,\n2,variation,A - S,1,3.00,6.00,,2020-01-01,id:1\n3,variation,A - M,1,,5.00,,,id:1\n",
			500, storefrontv1.Product_PUBLISHED, ""},
		{"a variation whose price cannot be read", "1,variable,A,1,,,,,\n2,variation,A - S,1,,cheap,,,id:1\n3,variation,A - M,1,,5.00,,,id:1\n",
			0, 0, `Regular price must be an amount such as 12.50, from 0 up, not "cheap": line 3`},
		{"no price at all", "1,simple,A,1,,,,,\n", 0, 0, "Regular price is required: line 2"},
	} {
		s := storeOf(t, "EUR", "FR")
		_, err := s.try(options{Kind: transfer.Products, From: "woocommerce"}, []byte(header+row.lines))
		if row.problem != "" {
			require.EqualError(t, err, row.problem, row.reason)
			continue
		}
		require.NoError(t, err, row.reason)
		require.Equal(t, row.price, s.products()[0].GetPriceAmount(), row.reason)
		require.Equal(t, row.status, s.products()[0].GetStatus(), row.reason)
	}
}

// Without a product with the SKU of a variation, the item's title begins with the product's.
func TestItemsOfVariations(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	s.load(options{Kind: transfer.Products, From: "woocommerce"},
		[]byte("ID,Type,SKU,Name,Published,Regular price,Parent\n1,variable,V,Shirt,1,,\n2,variation,V-S,Shirt - S,1,9.00,V\n"))
	done := s.load(options{Kind: transfer.Orders, From: "woocommerce"},
		[]byte("order_id,status,billing_email,order_total,item_name,item_sku\n1,completed,a@example.com,9.00,Shirt - S,V-S\n"))
	require.Zero(t, done.Items)
	require.Equal(t, s.products()[0].GetId(), s.orders()[0].GetItems()[0].GetProductId())
}

func TestEachRowCountsOnce(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason                string
		kind                  kind
		text                  string
		stored, repeated, bad int
		problem               string
	}{
		{"a title of a bad row", products, "title,price\nA,cheap\nA,5\n", 1, 0, 1, "price must be"},
		{"an id of a bad row", products, "id,title,price,slug\n1,A,5,a b\n1,A,5,a\n", 1, 0, 1, "slug must stand"},
		{"a slug of a bad row", products, "id,title,price,slug,coverUrl\n1,A,5,a,x\n2,A,5,a,\n", 1, 0, 1, "coverUrl must be"},
		{"an e-mail of a bad row", customers, "email,totalPaid\na@example.com,-1\na@example.com,5\n", 1, 0, 1, "totalPaid must be"},
		{"a reference of a bad row", orders,
			"reference,status,email,total\nR,PAID,nobody,5\nS,PAID,a@example.com,5\nR,PAID,a@example.com,5\n", 2, 0, 1, "email must be"},
		{"a row that repeats a good one", products, "title,price\nA,5\nA,5\n", 1, 1, 0, ""},
		{"a quote that is not closed", products, "title,price\nA,1\n\"B,2\nC,3\nD,4\n", 3, 0, 1,
			"is no CSV: it opens a quote that is not closed: line 3"},
		{"a quote that another row's closes", products, "title,price\nA,1\n\"B,2\nC,3\n\"D\",4\n", 3, 0, 1,
			"is no CSV: it opens a quote that is not closed: line 3"},
	} {
		s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
		var rejects bytes.Buffer
		done := s.load(options{Kind: row.kind, SkipBad: true, Rejects: &rejects}, []byte(row.text))
		require.Equal(t, []int{row.stored + row.repeated + row.bad, row.stored, row.repeated, row.bad},
			[]int{done.Lines, done.Stored, done.Repeated, done.Bad}, row.reason)
		require.Len(t, done.Problems, row.bad, row.reason)
		if row.bad > 0 {
			require.Contains(t, done.Problems[0].Text("line"), row.problem, row.reason)
			require.Equal(t, "\ufeff", rejects.String()[:len("\ufeff")], row.reason)
			require.Len(t, strings.Split(strings.TrimSpace(rejects.String()), "\n"), 1+row.bad, row.reason)
		}
	}
}

// No text is evaluated, and all but the corrected one are read as in the original file.
func TestRejectedRowsAreReadOncePutRight(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, text, wrong, right, title, phone string }{
		{"a quote that is not closed", "title,price\n\"Open,2.00\nTea,1.00\n", "", "", `"Open`, ""},
		{"a formula", "title,price\n=1+1,cheap\nTea,1.00\n", "cheap", "3.00", "=1+1", ""},
		{"a text that looks like one", "title;price\n-10 % caf\xe9;cheap\nTea;1,00\n", "cheap", "3,00", "-10 % café", ""},
		{"an apostrophe that was there", "title,price\n'@home,cheap\nTea,1.00\n", "cheap", "3.00", "@home", ""},
		{"an apostrophe before a number", "title,price\n'0612,cheap\nTea,1.00\n", "cheap", "3.00", "0612", ""},
		{"two apostrophes, of which the title has one", "title,price\n''=1,cheap\nTea,1.00\n", "cheap", "3.00", "'=1", ""},
		{"a formula in full width", "title,price\n＝1+1,cheap\nTea,1.00\n", "cheap", "3.00", "＝1+1", ""},
		{"a line that begins within a cell", "title,price\n\"\n=1\",cheap\nTea,1.00\n", "cheap", "3.00", "=1", ""},
		{"a header that is a formula", "title,price,=sum\n+a,cheap,-5\nTea,1.00,\n", "cheap", "3.00", "+a", ""},
		{"a phone number", "name,phone,email\nA,+237670000001,nobody\nB,+237670000002,\n", "nobody", "a@example.com", "", "+237670000001"},
	} {
		s := storeOf(t, "EUR", "FR")
		o := options{Kind: transfer.Products, SkipBad: true}
		if row.phone != "" {
			o.Kind = transfer.Customers
		}
		var rejects, again bytes.Buffer
		o.Rejects = &rejects
		done := s.load(o, []byte(row.text))
		require.Equal(t, []int{1, 1}, []int{done.Stored, done.Bad}, row.reason)
		for cell := range strings.FieldsFuncSeq(rejects.String(), func(r rune) bool { return strings.ContainsRune(",;\n\"\ufeff", r) }) {
			require.True(t, !strings.ContainsAny(cell[:1], "=+-@\t\r") && !strings.HasPrefix(cell, "＝") || strings.Trim(cell[1:], "0123456789") == "", "%s: %s", row.reason, cell)
		}
		o.Rejects = &again
		if row.wrong != "" {
			_, err := s.try(o, rejects.Bytes())
			require.Error(t, err, row.reason)
			require.Equal(t, rejects.String(), again.String(), row.reason)
		}
		done = s.load(options{Kind: o.Kind}, bytes.Replace(rejects.Bytes(), []byte(row.wrong), []byte(row.right), 1))
		require.Equal(t, 1, done.Stored, row.reason)
		if row.phone != "" {
			require.Contains(t, by(s.customers(), (*storefrontv1.Customer).GetPhone), row.phone, row.reason)
		} else {
			require.Contains(t, by(s.products(), (*storefrontv1.Product).GetTitle), row.title, row.reason)
		}
	}
}

// Without --from, the owner may write statuses in their own language, with or without accents.
func TestStatusesInFilesOfOnesOwn(t *testing.T) {
	t.Parallel()
	for status, words := range map[string]string{
		"PUBLISHED": "Publié,publiee,Veröffentlicht,Publicado,PUBLISHED,1", "DRAFT": "Brouillon,Entwurf,borrador,Rascunho,0",
		"ARCHIVED": "Archivé,archiviert,Archivado,Arquivado",
	} {
		for word := range strings.SplitSeq(words, ",") {
			s := storeOf(t, "EUR", "FR")
			s.load(options{Kind: transfer.Products}, []byte("Nom;Prix;Statut\nThé;3,00;"+word+"\n"))
			require.Equal(t, status, s.products()[0].GetStatus().String(), word)
		}
	}
	for status, words := range map[string]string{
		"PAID": "Terminée,Terminee,payé,Bezahlt,Pagado,Pago,paid", "REFUNDED": "Remboursée,Erstattet,Reembolsado",
		"CANCELLED": "Annulée,Storniert,Cancelado,canceled", "FAILED": "Échouée,Fehlgeschlagen,Fallido,Falhou",
		"PENDING": "En attente,Ausstehend,Pendiente,Pendente,on-hold",
	} {
		for word := range strings.SplitSeq(words, ",") {
			s := storeOf(t, "EUR", "FR")
			s.load(options{Kind: transfer.Orders}, []byte("Commande;Statut;E-mail;Montant\nR1;"+word+";a@example.com;3,00\n"))
			require.Equal(t, status, s.orders()[0].GetStatus().String(), word)
		}
	}
}

func TestComplaintsNameTheFilesColumns(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		kind                kind
		update              bool
		header, first, then string
		want                string
	}{
		{products, false, "Titel;Preis;Streichpreis", "", "A;5;4", `Streichpreis must be above Preis, or empty, not "4": line 2`},
		{products, true, "Titel;Preis;Streichpreis", "A;5;9", "A;10;", ""},
		{products, true, "Titel;Preis;Statut", "A;5;Entwurf", "A;5;veröffentlicht",
			`Statut cannot be PUBLISHED: the product lacks description and content ("veröffentlicht"): line 2`},
		{orders, false, "reference;Statut;E-mail;Montant;paidAt", "", "1;Échouée;a@example.com;5;2026-01-31",
			`paidAt must be empty for an order that was not paid, not "2026-01-31": line 2`},
		{customers, true, "id;E-mail;Portable", "1;a@example.com;\n2;b@example.com;", "2;a@example.com;",
			`E-mail or the phone is another customer's ("a@example.com"): line 2`},
	} {
		s := storeOf(t, "EUR", "FR")
		if row.first != "" {
			s.load(options{Kind: row.kind}, []byte(row.header+"\n"+row.first+"\n"))
		}
		_, err := s.try(options{Kind: row.kind, Update: row.update}, []byte(row.header+"\n"+row.then+"\n"))
		if row.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, row.want)
	}
}

// A row of an existing object needs only its key and the changed fields.
func TestAnUpdateNeedsItsKeyAndWhatChanges(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	s.load(options{Kind: products}, []byte("id;Titre;slug;Prix\n1;Guide;guide;5\n;Box;box;6\n"))
	s.load(options{Kind: customers}, []byte("id;E-mail;name\n1;a@example.com;A\n"))
	s.load(options{Kind: orders}, []byte("Référence;Statut;E-mail;Montant\nR1;En attente;a@example.com;5\nR2;En attente;a@example.com;6\n"))
	for _, row := range []struct {
		kind kind
		text string
		want string
	}{
		{products, "Titre;Prix;Statut\nBox;;Archivé\n", ""},
		{products, "Titre;Statut\nBox;Archivé\n", ""},
		{products, "slug;summary\nbox;B\nguide;G\n", ""},
		{products, "id;Titre;Prix\n1;;7\n", ""},
		{products, "Titre;Statut\nOther;Archivé\n", "price is required: line 2"},
		{customers, "id;name\n1;Awa\n", ""},
		{customers, "id;name\n2;Ben\n", "email is required, or a phone: line 2"},
		{orders, "Référence;Statut\nR1;Payée\n", ""},
		{orders, "Référence;Statut;E-mail\nR2;Payée;a@example.com\n", ""},
		{orders, "Référence;Statut\nR3;Payée\n",
			`Référence is no order of the store, and a new one needs a buyer, an amount, and items with titles and prices ("R3"): line 2`},
	} {
		for _, dry := range []bool{true, false} {
			_, err := s.try(options{Kind: row.kind, Update: true, DryRun: dry}, []byte(row.text))
			if row.want == "" {
				require.NoError(t, err, row.text)
			} else {
				require.EqualError(t, err, row.want)
			}
		}
	}
	bySlug := by(s.products(), (*storefrontv1.Product).GetSlug)
	require.Len(t, bySlug, 2)
	require.EqualValues(t, 700, bySlug["guide"].GetPriceAmount())
	require.Equal(t, "GuideG", bySlug["guide"].GetTitle()+bySlug["guide"].GetSummary())
	require.EqualValues(t, 600, bySlug["box"].GetPriceAmount())
	require.Equal(t, storefrontv1.Product_ARCHIVED, bySlug["box"].GetStatus())
	require.Equal(t, "Awa", s.customers()[0].GetName())
	for _, o := range s.orders() {
		require.Equal(t, storefrontv1.Order_PAID, o.GetStatus())
	}
}

// Hidden products stay hidden, and the report says that a partial payment is lost.
func TestShopifyOfWhatIsPartly(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	for _, column := range []string{"Published", "Published on online store"} {
		s.load(options{Kind: transfer.Products, From: "shopify"},
			[]byte("Handle,Title,"+column+",Variant Price,Status\nshown,Shown,true,5.00,active\nhidden,Hidden,FALSE,5.00,active\n"))
		bySlug := by(s.products(), (*storefrontv1.Product).GetSlug)
		require.Equal(t, storefrontv1.Product_PUBLISHED, bySlug["shown"].GetStatus())
		require.Equal(t, storefrontv1.Product_DRAFT, bySlug["hidden"].GetStatus())
	}
	done := s.load(options{Kind: transfer.Orders, From: "shopify"},
		[]byte("Name,Email,Financial Status,Total,Refunded Amount\n#1,a@example.com,partially_paid,5.00,0.00\n"))
	require.Equal(t, storefrontv1.Order_PENDING, s.orders()[0].GetStatus())
	require.Equal(t, []string{`Financial Status is stored as PENDING with the full total; what was paid is lost: line 2`},
		notes(done.Notes))
	done = s.load(options{Kind: transfer.Orders, From: "shopify"}, []byte("Name,Email,Financial Status,Total,Refunded Amount,"+
		"Outstanding Balance\n#2,a@example.com,partially_paid,5.00,0.00,3.50\n"))
	require.Equal(t, []string{`Financial Status is stored as PENDING with the full total; what was paid is lost ("1.50 EUR"): line 2`},
		notes(done.Notes))
}

func TestAFileOfBadRowsStoresNothing(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	for _, dry := range []bool{true, false} {
		_, err := s.try(options{Kind: transfer.Products, SkipBad: true, DryRun: dry}, []byte("title,price\nA,x\nB,y\n"))
		var bad *importfile.BadLinesError
		require.ErrorAs(t, err, &bad)
	}
	require.Empty(t, s.products())
}

func TestStatusesOfWooCommerce(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	done := s.load(options{Kind: transfer.Orders, From: "woocommerce"}, read(t, "woocommerce_orders_words.csv"))
	require.Equal(t, 12, done.Stored)
	counts := map[string]int{}
	for _, o := range s.orders() {
		counts[o.GetStatus().String()]++
	}
	require.Equal(t, map[string]int{"PAID": 7, "REFUNDED": 1, "CANCELLED": 1, "FAILED": 1, "PENDING": 2}, counts)
	require.Equal(t, []string{
		`left out: an unfinished checkout is no order ("checkout-draft"): line 14`,
		`order_date has no time zone and is read as UTC; --time-zone reads it as another ("2026-01-05 10:00:00"): lines 2–13`,
	}, notes(done.Notes))
	require.Equal(t, []string{"Guide"}, done.Titles)
}

// An order in another currency or without a buyer is refused; a customer's foreign phone is accepted.
func TestShopifyOfAShopInLagos(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "NGN", "NG")
	s.load(options{Kind: transfer.Products, From: "shopify"}, read(t, "shopify_products_lagos.csv"))
	soap := by(s.products(), (*storefrontv1.Product).GetSlug)["shea-soap"]
	require.EqualValues(t, 1_550_000, soap.GetPriceAmount())
	s.load(options{Kind: transfer.Customers, From: "shopify"}, read(t, "shopify_customers_lagos.csv"))
	require.Equal(t, "+12125550154", by(s.customers(), (*storefrontv1.Customer).GetName)["Carl Ray"].GetPhone())

	text := read(t, "shopify_orders_lagos.csv")
	_, err := s.try(options{Kind: transfer.Orders, From: "shopify"}, text)
	require.Error(t, err)
	require.Empty(t, s.orders())
	var rejects bytes.Buffer
	done := s.load(options{Kind: transfer.Orders, From: "shopify", SkipBad: true, Rejects: &rejects}, text)
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
	done := s.load(options{Kind: transfer.Customers, From: "stripe", SkipBad: true}, read(t, "stripe_customers.csv"))
	require.Equal(t, []int{2, 1}, []int{done.Stored, done.Bad})
	elena := by(s.customers(), (*storefrontv1.Customer).GetName)["Elena Vasquez"]
	require.EqualValues(t, 4995, elena.GetTotalPaid())
	require.EqualValues(t, 2, elena.GetOrdersCount())
	_, err := s.try(options{Kind: transfer.Orders, From: "stripe"}, nil)
	require.ErrorIs(t, err, importfile.ErrOptions)
}

// The file has semicolons, Windows-1252, decimal commas, and French dates and phones.
func TestAFrenchSpreadsheet(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	done := s.load(options{Kind: transfer.Customers}, read(t, "french_customers.csv"))
	require.Equal(t, []string{"Nom as name", "E-mail", "Téléphone as phone", "Date as createdAt"}, done.Read)
	require.Equal(t, []string{"Adresse"}, done.NotRead)
	elodie := by(s.customers(), (*storefrontv1.Customer).GetName)["Élodie Ngo"]
	require.Equal(t, "+33698765432", elodie.GetPhone())
	require.Equal(t, "2025-11-21", elodie.GetCreatedAt().AsTime().Format("2006-01-02"))
	s.load(options{Kind: transfer.Products}, read(t, "french_products.csv"))
	prices := by(s.products(), (*storefrontv1.Product).GetTitle)
	require.EqualValues(t, 1250, prices["Café moulu"].GetPriceAmount())
	require.EqualValues(t, 123450, prices["Thé"].GetPriceAmount())
	done = s.load(options{Kind: transfer.Customers}, []byte("Naem;E-mail\nA;a@example.com\n"))
	require.Equal(t, []string{"Naem (did you mean name? --map Naem=name reads it)"}, done.NotRead)
}

func TestDatesAndPhonesThatAFileLeavesOpen(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "KWD", "KW")
	text := []byte("email,phone,createdAt\na@example.com,06 12 34 56 78,01/02/2026\n")
	_, err := s.try(options{Kind: transfer.Customers}, text)
	require.ErrorContains(t, err, "createdAt can be read in two ways: say which with --date-format DD/MM/YYYY or MM/DD/YYYY")
	s.load(options{Kind: transfer.Customers, DateFormat: "DD/MM/YYYY", Country: "FR"}, text)
	c := s.customers()[0]
	require.Equal(t, "+33612345678", c.GetPhone())
	require.Equal(t, "2026-02-01", c.GetCreatedAt().AsTime().Format("2006-01-02"))
	for format, want := range map[string]string{"day/month": "must be of YYYY or YY, MM and DD", "DDMMYY": "createdAt must be a date"} {
		_, err = s.try(options{Kind: transfer.Customers, DateFormat: format}, text)
		require.ErrorContains(t, err, want)
	}
	_, err = s.try(options{Kind: transfer.Customers, Country: "FR"}, []byte("name,phone\nAwa,12\n"))
	require.EqualError(t, err, `phone must be a number in international form such as +237670000001, or a valid one of FR, not "12": line 2`)
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
		"Naem,Emial\nA,a@x.com":     "the file has no column for email or phone; did you mean email by Emial?; name it with --map Emial=email,",
		"[]":                        "nothing to import",
		"email;name\n\n;\n \n;  \n": "nothing to import",
	} {
		_, err := s.try(options{Kind: transfer.Customers}, []byte(text))
		var whole *importfile.FileError
		require.ErrorAs(t, err, &whole, "%q", text)
		require.Contains(t, err.Error(), want)
	}
}

func TestAStoreOfAWithdrawnCurrencyImports(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	made, err := shop.New(d, shop.Options{}).RestoreStore(t.Context(), tenant.Actor{Type: tenant.ActorOperator}, uuid.New(), time.Now(),
		&adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "HRK", Country: "UK"})
	require.NoError(t, err)
	s := store{admin.New(d, admin.Options{}), made, t, d}
	s.load(options{Kind: products}, []byte("title,price,currency\nA,\"HRK 1.234,50\",HRK\n"))
	require.EqualValues(t, 123450, s.products()[0].GetPriceAmount())
	s.load(options{Kind: customers}, []byte("name,phone\nAwa,07911 123456\n"))
	require.Equal(t, "+447911123456", s.customers()[0].GetPhone())
}
