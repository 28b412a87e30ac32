package importfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func (s store) itemsOf(reference string) []string {
	s.t.Helper()
	titles := by(s.products(), (*storefrontv1.Product).GetId)
	var all []string
	for _, item := range by(s.orders(), (*storefrontv1.Order).GetReference)[reference].GetItems() {
		all = append(all, fmt.Sprintf("%s %d %d %t", item.GetTitle(), item.GetQuantity(), item.GetUnitAmount(), titles[item.GetProductId()] != nil))
	}
	return all
}

// The product of an SKU, id, slug or title counts even if its title differs. Otherwise the SKU becomes the title.
func TestItemsWithoutATitle(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		s.load(options{Kind: products}, []byte("sku,title,slug,price\nJAR-1,Jar,the-jar,500\n"))
		const columns = "order_number,order_date,status,order_total,billing_email,product_name,sku,quantity,item_total\n"
		own := []column{{"order_number", "reference"}, {"order_total", "total"}, {"billing_email", "email"}}
		for i, row := range []struct{ name, sku, want string }{
			{"Jar", "JAR-1", "Jar 2 500 true"}, {"Red jar", "JAR-1", "Red jar 2 500 true"}, {"", "JAR-1", "Jar 2 500 true"},
			{"", "the-jar", "Jar 2 500 true"}, {"", "Jar", "Jar 2 500 true"}, {"", "LID-9", "LID-9 2 500 false"},
		} {
			for _, o := range []options{{Kind: orders, From: "woocommerce"}, {Kind: orders, Columns: own}} {
				reference := fmt.Sprint(i, o.From)
				done, _ := s.agreed(o, columns+reference+",2026-04-26 21:32:57,completed,1000,a@example.com,"+row.name+","+row.sku+",2,1000\n")
				require.Equal(t, 1, done.Stored)
				require.Equal(t, []string{row.want}, s.itemsOf(reference), "%v", row)
			}
		}
		for _, o := range []options{{Kind: orders, From: "woocommerce"}, {Kind: orders, Columns: own}} {
			_, err := s.try(o, []byte(columns+"R,2026-04-26,completed,1000,a@example.com,,,2,1000\n"))
			require.EqualError(t, err, "product_name is required: the item has no title and no SKU, and is of no product of the store: line 2")
		}
		done, _ := s.agreed(options{Kind: orders}, `{"reference":"J","status":"PAID","amount":5,"customer":{"email":"a@example.com"},`+
			`"items":[{"productId":"`+s.products()[0].GetId()+`","unitAmount":5,"quantity":1}]}`+"\n")
		require.Equal(t, 1, done.Stored)
		require.Equal(t, []string{"Jar 1 5 true"}, s.itemsOf("J"))
	})
}

// Only an order's only item gets its price from the total.
func TestItemsWithoutAPrice(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, text, want, note string
		bad                      bool
	}{
		{"the only item", "1,900,Jar,3,\n", "Jar 3 300 false", "", false},
		{"a total that is no multiple", "1,1000,Jar,3,\n", "Jar 3 333 false",
			`itemPrice is no multiple of the quantity: the price of one is stored rounded down, the order's total as it is: line 2`, false},
		{"a price of 0 is one", "1,900,Jar,3,0\n", "Jar 3 0 false", "", false},
		{"two items", "1,900,Jar,1,500\n1,,Cup,1,\n", "", "itemPrice is required: the item has no price", true},
		{"no total", "1,,Jar,1,\n", "", "itemPrice is required: the item has no price", true},
	} {
		s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
		text := strings.ReplaceAll("reference,total,itemTitle,itemQuantity,itemPrice,status,email\n"+row.text, "\n1,", "\n1,")
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i := range lines[1:] {
			lines[i+1] += ",PAID,a@example.com"
		}
		done, _ := s.agreed(options{Kind: orders}, strings.Join(lines, "\n"))
		if row.bad {
			require.Contains(t, notes(done.Problems)[0], row.note, row.reason)
			continue
		}
		require.Equal(t, []string{row.want}, s.itemsOf("1"), row.reason)
		require.Equal(t, row.note, strings.Join(notes(done.Notes), "\n"), row.reason)
	}
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	order := func(items string) string {
		return `{"reference":"1","status":"PAID","amount":900,"customer":{"email":"a@example.com"},"items":[` + items + "]}\n"
	}
	_, err := s.try(options{Kind: orders}, []byte(order(`{"title":"A","quantity":1},{"title":"B","quantity":1,"unitAmount":5}`)))
	require.ErrorContains(t, err, "items[0].unitAmount is required: the item has no price")
	s.agreed(options{Kind: orders}, order(`{"title":"A","quantity":1}`))
	require.Equal(t, []string{"A 1 900 false"}, s.itemsOf("1"))
}

// WooCommerce exports the quantity as bought, which is read, and the one after refunds.
func TestWhatWasBoughtOfARefundedOrder(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		const columns = `"Order Number","Order Status","Order Date","Email (Billing)","Order Total Amount",SKU,"Item Name","Quantity (- Refund)",Quantity,"Item Cost"` + "\n"
		done, _ := s.agreed(options{Kind: orders, From: "woocommerce"}, columns+"7,Refunded,2026-01-15 12:00,a@example.com,3000,JAR,Jar,0,2,1000\n"+
			"7,Refunded,2026-01-15 12:00,a@example.com,3000,CUP,Cup,1,3,500\n8,On hold,2026-01-16 12:00,b@example.com,500,CUP,Cup,1,1,500\n")
		require.Equal(t, 2, done.Stored)
		require.Equal(t, []string{"Jar 2 1000 false", "Cup 3 500 false"}, s.itemsOf("7"))
		require.Equal(t, storefrontv1.Order_REFUNDED, by(s.orders(), (*storefrontv1.Order).GetReference)["7"].GetStatus())
	})
}

// The text is left out if an e-mail identifies the customer.
func TestAPhoneThatIsNone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		const why = `is left out: it must be a `
		done, rejects := s.agreed(options{Kind: customers}, "email,phone\na@example.com,n/a\nb@example.com,0\n")
		require.Equal(t, 2, done.Stored)
		require.Empty(t, rejects)
		require.Contains(t, notes(done.Notes)[0], "phone "+why)
		require.Contains(t, notes(done.Notes)[0], `("n/a", "0"): lines 2–3`)
		done, _ = s.agreed(options{Kind: orders, From: "shopify"}, "Name,Email,Financial Status,Total,Billing Phone\n#1,c@example.com,paid,5,12\n")
		require.Contains(t, notes(done.Notes)[0], "Billing Phone "+why)
		done, _ = s.agreed(options{Kind: customers}, `{"email":"d@example.com","phone":"12"}`+"\n")
		require.Contains(t, notes(done.Notes)[0], "phone "+why)
		require.Len(t, s.customers(), 4)
		for _, text := range []string{"email,phone\n,12\n", "email,phone\nnobody,12\n"} {
			_, err := s.try(options{Kind: customers}, []byte(text))
			require.ErrorContains(t, err, "phone must be a ", text)
		}
	})
}

func TestFurtherLinesThatSayOtherwise(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason         string
		o              options
		text, want     string
		stored, others int
	}{
		{"two orders of one reference", options{Kind: orders}, "reference,status,email,total\n1,PAID,a@example.com,5\n1,PAID,a@example.com,7\n",
			"reference stands further up too; all lines of one record must follow each other and have one id and one buyer (\"1\"): line 3 (line 2)", 1, 0},
		{"an order twice", options{Kind: orders}, "reference,status,email,total\n1,PAID,a@example.com,5\n1,PAID,a@example.com,5\n",
			"is left out: it is the same as a row further up: line 3 (line 2)", 1, 1},
		{"an order with two totals", options{Kind: orders},
			"reference,status,email,total,itemTitle,itemPrice\n1,PAID,a@example.com,5,A,5\n1,PAID,a@example.com,7,B,2\n",
			`total is not that of the first line of the order; give each order its own reference ("7"): line 3`, 0, 0},
		{"variants of a product", options{Kind: products, From: "shopify"}, "Handle,Title,Variant Price\na,A,5\na,,6\na,,5\n",
			`Variant Price is left out: only the first line of several is read ("6"): line 3`, 1, 0},
		{"the totals of Gumroad", options{Kind: orders, From: "gumroad"},
			"Purchase ID,Item Name,Purchase Email,Sale Price ($),Purchase Date\nTotals,,,5,\n",
			`left out: it has the totals of the file ("Totals"): line 2`, 0, 1},
	} {
		s := storeOf(t, "USD", "US")
		done, rejects := s.agreed(row.o, row.text)
		require.Equal(t, row.stored, done.Stored, row.reason)
		require.Equal(t, row.others, done.Repeated+done.LeftOut, row.reason)
		require.Contains(t, strings.Join(append(notes(done.Problems), notes(done.Notes)...), "\n"), row.want, row.reason)
		require.Equal(t, row.others+done.Bad > 0, rejects != "", row.reason)
	}
}

// In a dry run too, no row may name a slug derived from an earlier title.
func TestASlugThatIsMadeIsTaken(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	done, _ := s.agreed(options{Kind: products, SkipBad: true}.InBatches(1), "id,title,slug,price\n1,Cup,,5\n2,Cup,,6\n3,Mug,cup,7\n")
	require.Equal(t, []string{`slug is that of another row of the file ("cup"): line 4 (line 2)`}, notes(done.Problems))
	require.Equal(t, 2, done.Stored)
}
