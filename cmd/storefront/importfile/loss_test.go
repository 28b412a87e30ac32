package importfile_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Each row of the test says what was lost or may be read wrongly.
func TestValuesThatAreLostAreNamed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		o    options
		text string
		want []string
	}{
		"a part was refunded or paid": {options{Kind: orders},
			"reference,status,total,email\nA1,partially_refunded,10,a@example.com\nA2,partially_paid,10,a@example.com\n", []string{
				`status is stored as PAID with the full total; what was refunded is lost: line 2`,
				`status is stored as PENDING with the full total; what was paid is lost: line 3`}},
		"a part was paid on WooCommerce": {options{Kind: orders, From: "woocommerce"},
			"order_id,status,order_total,billing_email\nA1,wc-partially-paid,10,a@example.com\n",
			[]string{`status is stored as PENDING with the full total; what was paid is lost: line 2`}},
		"times of a payment and of a cancellation": {options{Kind: orders, From: "shopify"},
			"Name,Financial Status,Total,Email,Paid at,Cancelled at\n#1,paid,10,a@example.com,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z\n" +
				"#2,voided,10,a@example.com,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z\n", []string{
				`Cancelled at is left out: the order is stored as PAID ("2026-01-02T00:00:00Z"): line 2`,
				`Paid at is left out: the order is stored as CANCELLED ("2026-01-01T00:00:00Z"): line 3`}},
		"an amount in minor units": {options{Kind: orders},
			"Order Number,Status,Amount,Email\n1,PAID,25,a@example.com\n2,PAID,0,a@example.com\n3,PAID,4000,a@example.com\n",
			[]string{`Amount is in minor units ("25 is 0.25 EUR", "4000 is 40.00 EUR"): lines 2, 4`}},
		"two phones": {options{Kind: customers}, "Name,Email,Phone,Mobile\nA,a@example.com,0612345678,0698765432\n" +
			"B,b@example.com,,0698765431\nC,c@example.com,0612345679,0612345679\n",
			[]string{`Mobile is left out: Phone is read, which has another value ("0698765432"): line 2`}},
		"a text beside a phone": {options{Kind: customers}, "Email,Phone,Mobile\na@example.com,0612345678,ask Bob\n",
			[]string{`Mobile is left out: Phone is read, which has another value ("ask Bob"): line 2`}},
		"two columns of --map": {options{Kind: customers, Columns: []column{{"Mail 1", "email"}, {"Mail 2", "email"}}},
			"Mail 1,Mail 2\na@example.com,b@example.com\n",
			[]string{`Mail 2 is left out: Mail 1 is read, which has another value ("b@example.com"): line 2`}},
		"two names of an item": {options{Kind: orders}, "reference,status,total,email,Product,Item,itemPrice\n1,PAID,10,a@example.com,A,B,10\n" +
			"1,,,,C,D,0\n", []string{`Item is left out: Product is read, which has another value ("B", "D"): lines 2–3`}},
		"two names": {options{Kind: customers}, "Name,First Name,Last Name,Email\nAcme,Ann,Lee,a@example.com\nLee,Ann,Lee,b@example.com\n" +
			"Dr. Ann Lee,Ann,Lee,c@example.com\n", []string{
			`Name is stored as the name; the first and last name beside it are left out ("Acme"): line 2`}},
		"the total of an item": {options{Kind: orders, From: "woocommerce"}, "order_id,status,order_total,billing_email,item_name," +
			"item_quantity,item_price,item_total\nA1,completed,10,a@example.com,A,2,5,10\nA1,completed,10,a@example.com,B,2,5,8.0001\n", []string{
			`item_total is left out: it is another amount than the price times the quantity, which are stored ("8.0001"): line 3`}},
		"two columns of an amount": {options{Kind: products}, "title,price,priceAmount\nA,10,1000\nB,10,900\n",
			[]string{`priceAmount is left out: price is read, which has another value ("900"): line 3`}},
		"dates of another calendar, and of none": {options{Kind: orders}, "reference,status,total,email,createdAt\n" +
			"1,PAID,10,a@example.com,2569-01-31T00:00:00Z\n2,PAID,10,a@example.com,1899-12-30T00:00:00Z\n", []string{
			`createdAt is in the future or more than 50 years ago ("2569-01-31T00:00:00Z", "1899-12-30T00:00:00Z"): lines 2–3`}},
		"a part was refunded, in a column": {options{Kind: orders, From: "woocommerce"}, "order_id,status,order_total,billing_email,refunded_total\n" +
			"A1,completed,10,a@example.com,4.00\nA2,completed,10,a@example.com,0.00\nA3,refunded,10,a@example.com,10.00\n",
			[]string{`refunded_total is left out: the order is stored as PAID with the full total ("4.00"): line 2`}},
		"two columns of one name": {options{Kind: customers}, "Name,Email,Phone,Phone\nA,a@example.com,0612345678,0698765432\n" +
			"B,b@example.com,,0698765431\nC,c@example.com,0612345679,0612345679\n",
			[]string{`Phone is left out: Phone is read, which has another value ("0698765432", "0698765431"): lines 2–3`}},
		"names that are none": {options{Kind: customers},
			"Name,Email\n#NAME?,a@example.com\nFALSE,b@example.com\nNoble,c@example.com\nNULL,d@example.com\n", []string{
				`Name is stored, but is what programs write for an empty or a wrong value ("#NAME?", "FALSE", "NULL"): lines 2–3, 5`}},
		"a name as the customer's id": {options{Kind: orders}, "reference,status,total,email,Customer\n1,PAID,10,a@example.com,Ann Lee\n" +
			"2,PAID,10,b@example.com,17\n", []string{
			`Customer is read as the customer's id, not as the name; --map Customer=name reads it as the name ("Ann Lee"): line 2`}},
		"an amount of another program": {options{Kind: orders, Columns: []column{{"tx_ref", "reference"}}},
			`{"tx_ref":"1","status":"PAID","amount":4000,"email":"a@example.com"}`,
			[]string{`amount is in minor units ("4000 is 40.00 EUR"): line 1`}},
		"one line twice": {options{Kind: orders}, "reference,status,total,email,itemTitle,itemPrice\n1,PAID,10,a@example.com,A,10\n" +
			"1,PAID,10,a@example.com,A,10\n1,PAID,10,a@example.com,B,10\n",
			[]string{`is the same as a line further up, and is read as another item of the order: line 3 (line 2)`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, d *db.DB) {
				s := storeOn(t, d, "EUR", "FR")
				dry := row.o
				dry.DryRun = true
				require.Equal(t, row.want, notes(s.load(dry, []byte(row.text)).Notes))
				require.Equal(t, row.want, notes(s.load(row.o, []byte(row.text)).Notes))
			})
		})
	}
}

// A count has the two meanings that an amount of two decimals has.
func TestCounts(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "KWD", "KW")
	for i, text := range []string{"2", "2.0", "2,00", "2.0000", "٢", "２"} {
		email := fmt.Sprintf("a%d@example.com", i)
		s.load(options{Kind: customers}, []byte("email;ordersCount\n"+email+";"+text+"\n"))
		require.EqualValues(t, 2, by(s.customers(), (*storefrontv1.Customer).GetEmail)[email].GetOrdersCount(), text)
	}
	for _, text := range []string{"1.000", "1,000", "1.5", "-1", "1e1", "2 pcs", "2147483648"} {
		_, err := s.try(options{Kind: customers}, []byte("email;ordersCount\na@example.com;"+text+"\n"))
		require.Error(t, err, text)
	}
}

// The item is linked to the newest, with a remark.
func TestATitleOfSeveralProductsIsNamed(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	s.load(options{Kind: products}, []byte("id,title,price\n1,The Guide,10\n2,The Guide,20\n3,Box,5\n"))
	done := s.load(options{Kind: orders}, []byte("reference,status,total,email,itemTitle,itemPrice,itemProduct\n"+
		"1,PAID,35,a@example.com,The Guide,10,\n1,,,,The Guide,20,1\n1,,,,Box,5,\n"))
	require.Equal(t, []string{`itemTitle is the title of several products: the item is linked to the newest ("The Guide"): line 2`},
		notes(done.Notes))
}

func TestAPhoneIsOfItsAddress(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	s.load(options{Kind: orders, From: "shopify"}, []byte("Name,Email,Financial Status,Total,Billing Country,Billing Phone,Shipping Country,"+
		"Shipping Phone\n1,a@example.com,paid,10,FR,,BE,0470 12 34 56\n2,b@example.com,paid,10,FR,0470 12 34 56,BE,\n"))
	byEmail := by(s.customers(), (*storefrontv1.Customer).GetEmail)
	require.Equal(t, "+32470123456", byEmail["a@example.com"].GetPhone())
	require.Equal(t, "+33470123456", byEmail["b@example.com"].GetPhone())
}

// A text that means neither is refused. Spreadsheets write yes and no in their language.
func TestYesAndNo(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	done, err := s.try(options{Kind: orders}, []byte("reference,status,total,email,refunded\nA1,PAID,10,a@example.com,5.00\n"))
	require.Error(t, err)
	require.Equal(t, []string{`refunded must be yes or no, not "5.00": line 2`}, notes(done.Problems))
	s.load(options{Kind: orders}, []byte("reference,status,total,email,refunded\nA1,PAID,10,a@example.com,WAHR\nA2,PAID,10,a@example.com,Não\n"))
	byReference := by(s.orders(), (*storefrontv1.Order).GetReference)
	require.Equal(t, storefrontv1.Order_REFUNDED, byReference["A1"].GetStatus())
	require.Equal(t, storefrontv1.Order_PAID, byReference["A2"].GetStatus())

	const header = "Handle,Title,Variant Price,Status,Published\n"
	done, err = s.try(options{Kind: products, From: "shopify"}, []byte(header+"a,A,10,active,online\n"))
	require.Error(t, err)
	require.Equal(t, []string{`Published must be yes or no, not "online": line 2`}, notes(done.Problems))
	s.load(options{Kind: products, From: "shopify"}, []byte(header+"a,A,10,active,FALSCH\nb,B,10,active,\nc,C,10,active,VRAI\n"))
	bySlug := by(s.products(), (*storefrontv1.Product).GetSlug)
	require.Equal(t, storefrontv1.Product_DRAFT, bySlug["a"].GetStatus())
	require.Equal(t, storefrontv1.Product_PUBLISHED, bySlug["b"].GetStatus())
	require.Equal(t, storefrontv1.Product_PUBLISHED, bySlug["c"].GetStatus())
}

// Only a line with nothing but items' columns belongs to the order above.
func TestAnOrderWithoutAReferenceIsNoItem(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	const header = "reference,status,total,email,itemTitle,itemPrice\n1,PAID,20,a@example.com,A,10\n"
	done, err := s.try(options{Kind: orders}, []byte(header+",PAID,20,a@example.com,B,10\n"))
	require.Error(t, err)
	require.Contains(t, notes(done.Problems), "reference is required: line 3")
	s.load(options{Kind: orders}, []byte(header+",,,,B,10\n"))
	require.Len(t, s.orders()[0].GetItems(), 2)
}

// An update changes only an order's status.
func TestAnUpdateNamesTheColumnsThatItLeaves(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := storeOn(t, d, "EUR", "FR")
		s.load(options{Kind: orders, Update: true}, []byte("reference,status,total,email\n1,PENDING,10,a@example.com\n"))
		for _, dry := range []bool{true, false} {
			done := s.load(options{Kind: orders, Update: true, DryRun: dry}, []byte("reference,status,total,Mail\n1,PENDING,99,a@example.com\n"))
			require.Equal(t, 1, done.Skipped)
			require.Equal(t, []string{"--update leaves the values of these columns as the store has them: total, Mail"}, notes(done.Notes))
		}
	})
}

// Otherwise the corrected line could not be imported, because the store has the order already.
func TestAnOrderIsStoredWithAllItsLinesOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`"1","PAID","10","a@example.com","12" vinyl","5"`, `1,PAID,10,a@example.com,B,5,x`, `"1",PAID,10,a@example.com,"B,5`,
		"1,PAID,10,a@example.com,\xff,5"} {
		good := "1,PAID,10,a@example.com,A,5\n"
		for _, lines := range []string{good + bad + "\n", bad + "\n" + good, good + bad + "\n1,PAID,10,a@example.com,C,5\n"} {
			s := storeOf(t, "EUR", "FR")
			var rejects bytes.Buffer
			done := s.load(options{Kind: orders, SkipBad: true, Rejects: &rejects, Encoding: "utf-8"},
				[]byte("reference,status,total,email,itemTitle,itemPrice\n"+lines+"2,PAID,10,a@example.com,A,5\n"))
			require.Equal(t, "2", s.orders()[0].GetReference(), lines)
			require.Len(t, s.orders(), 1, lines)
			require.Equal(t, 1, done.Bad)
			require.Equal(t, strings.Count(lines, "\n")+1, strings.Count(rejects.String(), "\n"), rejects.String())
		}
	}
}

// A later order with only the id that was not kept is refused.
func TestADryRunKnowsThatAnIDIsNotKept(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := storeOn(t, d, "EUR", "FR")
		done, _ := s.agreed(options{Kind: orders, SkipBad: true}.InBatches(2), "reference,status,total,customer,email\n"+
			"1,PAID,1,,a@example.com\n2,PAID,1,,b@example.com\n3,PAID,1,2,a@example.com\n4,PAID,1,2,\n")
		require.Equal(t, []string{`customer is no customer of the store, and without an e-mail or a phone none can be made ("2"): line 5`},
			notes(done.Problems))
	})
}

// Its columns have one value in several spellings, or values that mean none.
func TestARightFileHasNoRemark(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	for _, row := range []struct {
		o    options
		text string
	}{
		{options{Kind: orders, From: "shopify"}, "Name,Email,Financial Status,Total,Phone,Billing Name,Billing Phone,Billing Country,Shipping Name," +
			"Shipping Phone,Cancelled at\n#1,a@example.com,paid,10,'+33612345678,Ann Lee,06 12 34 56 78,FR,ANN LEE,33612345678,0000-00-00 00:00:00\n"},
		{options{Kind: orders, From: "woocommerce"}, "order_id,status,order_total,billing_email,customer_email\n1,completed,10,b@example.com,B@example.com\n"},
		{options{Kind: products}, "title,price,summary\nBox,10,\"Good for\nbread, cheese, ham\nand more\"\n"},
		{options{Kind: orders}, "reference,status,total,email,customer\nG1,PAID,10,c@example.com,0\nG2,PAID,10,d@example.com,0\n"},
	} {
		require.Empty(t, notes(s.load(row.o, []byte(row.text)).Notes), row.text)
	}
	require.Len(t, s.customers(), 4, "0 is the id of no guest")
}

// The column for the time has the date too, and an item's price is that of its whole quantity.
func TestASaleOfSeveralOnGumroad(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "USD", "US")
	sales := []byte("Purchase ID,Item Name,Purchase Email,Purchase Date,Purchase Time (UTC timezone),Sale Price ($),Partial Refund ($)," +
		"Fully Refunded?,Product ID,Item Price ($),Quantity\n" +
		"A,Ebook,a@example.com,2026-01-02,2026-01-02 10:11:12 UTC,30.0,5.5,0,x,27.0,3\n")
	s.load(options{Kind: products, From: "gumroad"}, sales)
	require.EqualValues(t, 900, s.products()[0].GetPriceAmount())
	require.Equal(t, []string{`Partial Refund ($) is left out: the order is stored as PAID with the full total ("5.5"): line 2`},
		notes(s.load(options{Kind: orders, From: "gumroad"}, sales).Notes))
	order := s.orders()[0]
	require.Equal(t, "2026-01-02T10:11:12Z", order.GetCreatedAt().AsTime().Format("2006-01-02T15:04:05Z07:00"))
	require.EqualValues(t, 1000, order.GetItems()[0].GetUnitAmount())
	require.EqualValues(t, 3, order.GetItems()[0].GetQuantity())
}

// The product has the variation's SKU, or the id after id:. A number may be both.
func TestAVariationIsOfOneProduct(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	done := s.load(options{Kind: products, From: "woocommerce"}, []byte("ID,Type,SKU,Name,Published,Regular price,Parent\n"+
		"55,variable,,Shirt,1,,\n90,variable,55,Mug,1,,\n91,variable,,Box,1,,\n1,variation,,S,1,20,id:55\n2,variation,,M,1,5,55\n3,variation,,X,1,1,\n"))
	byTitle := by(s.products(), (*storefrontv1.Product).GetTitle)
	require.EqualValues(t, 2000, byTitle["Shirt"].GetPriceAmount())
	require.EqualValues(t, 500, byTitle["Mug"].GetPriceAmount())
	require.Contains(t, notes(done.Notes), `left out: it has no price, and the file has no published variation of it ("Box"): line 4`)
}

// Removing tags joins or loses no words.
func TestASummaryWithoutTags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"PDF<br />EPUB": "PDF\nEPUB", "<ul><li>A</li><li>B &amp; C</li></ul>": "A\nB & C", `<p>One</p>\n<p>Two</p>`: "One\nTwo",
		"H<sub>2</sub>O, <b>bold</b>": "H2O, bold", "For ages <5 and >3": "For ages <5 and >3", `A\n\nB`: "A\n\nB",
	} {
		s := storeOf(t, "EUR", "FR")
		s.load(options{Kind: products, From: "woocommerce"}, []byte("ID,Name,Regular price,Short description\n1,A,5,\""+text+"\"\n"))
		require.Equal(t, want, s.products()[0].GetSummary(), text)
	}
}

// Stripe's column Amount, for example, has the main unit, but is read as minor units.
func TestARefusedAmountNamesItsMap(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	sales := []byte("id,Amount,Status,Email\nch_1,20.00,Paid,a@example.com\n")
	done, err := s.try(options{Kind: orders}, sales)
	require.Error(t, err)
	require.Equal(t, []string{`Amount must be a whole number of minor units (--map Amount=total reads amounts such as 12.50), not "20.00": line 2`},
		notes(done.Problems))
	s.load(options{Kind: orders, Columns: []column{{"Amount", "total"}}}, sales)
	require.EqualValues(t, 2000, s.orders()[0].GetAmount())
}

func TestJSONOfOtherTypes(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "EUR", "FR")
	for member, want := range map[string]string{
		`"summary":false`: `summary must be a text or a number, not "false": line 1`, `"summary":[]`: `summary must be a text or a number, not "[]": line 1`,
	} {
		done, err := s.try(options{Kind: products}, []byte(`{"title":"A","priceAmount":5,`+member+`}`))
		require.Error(t, err)
		require.Equal(t, []string{want}, notes(done.Problems))
	}
}
