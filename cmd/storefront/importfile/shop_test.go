package importfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Exports of Shopify had no Status before 2020. Published then says whether the shop shows a product.
func TestPublishedWithoutAStatus(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		header, values string
		want           storefrontv1.Product_Status
	}{
		{"Published", "true", storefrontv1.Product_PUBLISHED}, {"Published", "false", storefrontv1.Product_DRAFT},
		{"Published", "", storefrontv1.Product_DRAFT}, {"Published on online store", "TRUE", storefrontv1.Product_PUBLISHED},
		{"Published,Status", "true,", storefrontv1.Product_PUBLISHED}, {"Published,Status", "false,", storefrontv1.Product_DRAFT},
		{"Published,Status", "true,draft", storefrontv1.Product_DRAFT}, {"Published,Status", "false,active", storefrontv1.Product_DRAFT},
		{"Published,Status", "true,archived", storefrontv1.Product_ARCHIVED},
	} {
		s := storeOf(t, "USD", "US")
		s.load(options{Kind: products, From: "shopify"},
			[]byte("Handle,Title,Variant Price,"+row.header+"\ncup,Cup,5.00,"+row.values+"\n"))
		require.Equal(t, row.want, s.products()[0].GetStatus(), "%s: %s", row.header, row.values)
	}
	s := storeOf(t, "USD", "US")
	s.load(options{Kind: products, From: "shopify"}, []byte("Handle,Title,Variant Price,Status\ncup,Cup,5.00,active\n"))
	s.load(options{Kind: products, From: "shopify", Update: true}, []byte("Handle,Title,Variant Price,Published\ncup,Cup,5.00,false\n"))
	require.Equal(t, storefrontv1.Product_DRAFT, s.products()[0].GetStatus())
}

// The product gets a slug of its own, and is found again by its handle.
func TestHandlesOfOtherScripts(t *testing.T) {
	t.Parallel()
	handles := []string{"日本のカップ", "เสื้อยืด", "כוס-כחולה", "नीली-कप", "café", "cafe\u0301-2", "kitap-i\u0307stanbul", "سَلام"}
	for _, o := range []struct {
		options
		header string
	}{{options{Kind: products, From: "shopify"}, "Handle,Title,Variant Price"}, {options{Kind: products}, "slug,title,price"}} {
		s := storeOf(t, "USD", "US")
		var file strings.Builder
		file.WriteString(o.header + "\nplain,Plain,1.00\n")
		for i, handle := range handles {
			fmt.Fprintf(&file, "%s,Title %d,1.00\n", handle, i)
		}
		file.WriteString(handles[0] + "x,商品,1.00\n")
		done := s.load(o.options, []byte(file.String()))
		require.Equal(t, 10, done.Stored)
		require.Len(t, done.Notes, 1)
		require.Regexp(t, `^(Handle|slug) has letters that an address cannot show: a new product gets a slug of its own \(.*\): lines 3–11$`,
			notes(done.Notes)[0])
		slugs := by(s.products(), (*storefrontv1.Product).GetSlug)
		require.Contains(t, slugs, "plain")
		require.Contains(t, slugs, "title-0")
		require.Len(t, slugs, 10)
		for slug, p := range slugs {
			require.Regexp(t, `^[a-z0-9-]+$`, slug)
			require.True(t, strings.HasSuffix(p.GetUrl(), "/products/"+slug))
		}
		again := s.load(o.options, []byte(file.String()))
		require.Zero(t, again.Stored)
		require.Equal(t, 10, again.Skipped)
	}
}

// Money that Gumroad did not charge, or that a dispute took back, is not paid.
func TestPreordersAndDisputesOfGumroad(t *testing.T) {
	t.Parallel()
	const header = "Purchase ID,Item Name,Purchase Email,Purchase Date,Sale Price ($),Partial Refund ($),Fully Refunded?,Disputed?," +
		"Dispute Won?,Free trial purchase?,Pre-order authorization?,Quantity\n"
	for _, row := range []struct {
		values string
		want   storefrontv1.Order_Status
		note   string
	}{
		{"0,0,0,0,0,0", storefrontv1.Order_PAID, ""},
		{"0,0,1,1,0,0", storefrontv1.Order_PAID, ""},
		{"0,0,1,0,0,0", storefrontv1.Order_REFUNDED, "Disputed? is a dispute that the seller has not won: the order is stored as REFUNDED"},
		{"0,0,1,,,", storefrontv1.Order_REFUNDED, "Disputed? is a dispute that the seller has not won: the order is stored as REFUNDED"},
		{"0,0,0,0,0,1", storefrontv1.Order_PENDING, "Pre-order authorization? was not charged: the order is stored as PENDING"},
		{"0,0,0,0,1,0", storefrontv1.Order_PENDING, "Free trial purchase? was not charged: the order is stored as PENDING"},
		{"45.0,1,0,0,0,0", storefrontv1.Order_REFUNDED, ""},
		{"10.0,0,0,0,0,0", storefrontv1.Order_PAID, "Partial Refund ($) is left out: the order is stored as PAID with the full total"},
	} {
		s := storeOf(t, "USD", "US")
		done := s.load(options{Kind: orders, From: "gumroad"}, []byte(header+"A,Course,a@example.com,2026-07-27,45.0,"+row.values+",1\n"))
		order := s.orders()[0]
		require.Equal(t, row.want, order.GetStatus(), row.values)
		require.Equal(t, row.want == storefrontv1.Order_PAID || row.want == storefrontv1.Order_REFUNDED, order.PaidAt != nil, row.values)
		if row.note == "" {
			require.Empty(t, done.Notes, row.values)
		} else {
			require.Len(t, done.Notes, 1, row.values)
			require.Contains(t, notes(done.Notes)[0], row.note)
			require.Contains(t, notes(done.Notes)[0], ": line 2")
		}
	}
}

// It is named, whatever the order's status.
func TestPartOfARefundedOrder(t *testing.T) {
	t.Parallel()
	const header = "Order Number,Order Status,Order Date,Email,Order Refund Amount,Order Total Amount\n"
	for refund, note := range map[string]bool{"10.00": true, "30.00": false, "": false, "0": false} {
		s := storeOf(t, "USD", "US")
		done := s.load(options{Kind: orders, From: "woocommerce", TimeZone: "UTC"},
			[]byte(header+"501,Refunded,2026-01-15T12:00Z,a@example.com,"+refund+",30.00\n"))
		require.Equal(t, storefrontv1.Order_REFUNDED, s.orders()[0].GetStatus())
		require.Equal(t, "a@example.com", s.customers()[0].GetEmail(), "a column that has no Billing in its name")
		var want []string
		if note {
			want = []string{`Order Refund Amount is left out: the order is stored as REFUNDED with the full total ("10.00"): line 2`}
		}
		require.Equal(t, len(want), len(done.Notes), "%q: %v", refund, notes(done.Notes))
		if note {
			require.Equal(t, want, notes(done.Notes))
		}
	}
}

// A price of several that is no multiple of their number is named.
func TestAPriceThatIsRounded(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "USD", "US")
	done := s.load(options{Kind: products, From: "gumroad"},
		[]byte("Purchase ID,Item Name,Item Price ($),Quantity\nA,Jar,10.00,3\nB,Cup,10.00,2\n"))
	require.Equal(t, []string{
		`Item Price ($) is no multiple of the quantity: the price of one is stored rounded down ("10.00"): line 2`}, notes(done.Notes))
	require.EqualValues(t, 333, by(s.products(), (*storefrontv1.Product).GetTitle)["Jar"].GetPriceAmount())
}

// Whatever the name of the currency's column.
func TestOtherCurrenciesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"CURRENCY_CODE", "Currency Code", "currency", "Order Currency", "Währung", "Devise"} {
		for _, row := range []struct {
			options
			header, values string
		}{
			{options{Kind: products}, "title,price", "Cup,5.00"},
			{options{Kind: customers}, "email", "a@example.com"},
			{options{Kind: orders}, "reference,status,email,total", "A,PAID,a@example.com,5.00"},
			{options{Kind: orders, From: "woocommerce"}, "order_number,status,Email,order_total", "A,completed,a@example.com,5.00"},
		} {
			s := storeOf(t, "USD", "US")
			_, err := s.try(row.options, []byte(row.header+","+name+"\n"+row.values+",EUR\n"))
			require.EqualError(t, err, name+` must be USD, the store's currency, not "EUR": line 2`, "%v", row)
			require.Equal(t, 1, s.load(row.options, []byte(row.header+","+name+"\n"+row.values+",USD\n")).Stored)
		}
	}
}

// Programs of .NET write the first day of the year 1 for no date.
func TestTheDateThatMeansNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0001-01-01", "0001-01-01T00:00:00", "0001-01-01T00:00:00Z", "0001-01-01 00:00:00 +0100", "01/01/0001 00:00:00"} {
		s := storeOf(t, "USD", "US")
		done := s.load(options{Kind: customers}, []byte("email,createdAt\na@example.com,"+text+"\n"))
		require.Equal(t, []string{`createdAt is what programs of .NET write for no date, and is read as none ("` + text + `"): line 2`},
			notes(done.Notes))
		require.Greater(t, s.customers()[0].GetCreatedAt().AsTime().Year(), 2020)
	}
	s := storeOf(t, "USD", "US")
	s.load(options{Kind: customers, TimeZone: "UTC"}, []byte("email,createdAt\na@example.com,0001-06-01T00:00:00Z\n"))
	require.Equal(t, 1, s.customers()[0].GetCreatedAt().AsTime().Year(), "a date that somebody may mean is kept")
}
