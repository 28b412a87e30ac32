package importfile_test

import (
	"bytes"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer"
	"go.storefront.example/server/transfer/transfertest"
)

// agreed imports a text after a dry run, and requires the same report, error and rejected rows.
func (s store) agreed(o options, text string) (*importfile.Report, string) {
	s.t.Helper()
	var rejects, again bytes.Buffer
	o.DryRun, o.Rejects = true, &rejects
	dry, dryErr := s.try(o, []byte(text))
	o.DryRun, o.Rejects = false, &again
	done, err := s.try(o, []byte(text))
	require.Equal(s.t, dry, done, text)
	require.Equal(s.t, fmt.Sprint(dryErr), fmt.Sprint(err), text)
	require.Equal(s.t, rejects.String(), again.String(), text)
	require.Equal(s.t, done.Lines, done.Stored+done.Changed+done.Skipped+done.Merged+done.Repeated+done.LeftOut+done.Bad, text)
	return done, rejects.String()
}

// An order with this phone belongs to the customer whose e-mail it has.
func TestTwoCustomersWithOnePhone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		const buyers = "First Name,Last Name,Email,Phone,Total Spent,Total Orders\n" +
			"Ada,Abe,ada@example.com,+237670000001,100,1\nBea,Bus,bea@example.com,+237670000001,2500,4\n"
		done, rejects := s.agreed(options{Kind: customers, From: "shopify"}, buyers)
		require.Equal(t, []string{`Phone is left out: it is another customer's ("+237670000001"): line 3 (line 2)`}, notes(done.Notes))
		require.Equal(t, 2, done.Stored)
		require.Empty(t, rejects, "no row is left out")
		all := by(s.customers(), (*storefrontv1.Customer).GetEmail)
		require.Equal(t, "+237670000001", all["ada@example.com"].GetPhone())
		require.Nil(t, all["bea@example.com"].Phone)
		require.EqualValues(t, 2500, all["bea@example.com"].GetTotalPaid())

		done, _ = s.agreed(options{Kind: orders, From: "shopify"}, "Name,Email,Financial Status,Total,Lineitem quantity,Lineitem name,"+
			"Lineitem price,Billing Name,Billing Country,Billing Phone\n"+
			"#1,ada@example.com,paid,100,1,Cup,100,Ada Abe,CM,+237670000001\n#2,bea@example.com,paid,2500,1,Cup,2500,Bea Bus,CM,+237670000001\n"+
			"#3,cleo@example.com,paid,5,1,Cup,5,Cleo,CM,670 00 00 01\n#4,,paid,6,1,Cup,6,Ada Abe,CM,+237670000001\n")
		require.Equal(t, []string{`Billing Phone is left out: it is another customer's ("+237670000001", "670 00 00 01"): ` +
			`lines 3–4 (ada@example.com)`}, notes(done.Notes))
		for reference, email := range map[string]string{"#1": "ada", "#2": "bea", "#3": "cleo", "#4": "ada"} {
			require.Equal(t, email+"@example.com", by(s.orders(), (*storefrontv1.Order).GetReference)[reference].GetCustomer().GetEmail())
		}

		// A row with only the phone of a stored customer is about that customer; one with a new e-mail is not.
		other := transfertest.OneCustomer().With("phone", "+237670000001").With("email", "dora@example.com")
		text := transfertest.Lines(other, transfertest.Fields{"name": "A.", "phone": "+237670000001"})
		var lines bytes.Buffer
		_, _ = lines.ReadFrom(text)
		done, _ = s.agreed(options{Kind: customers}, lines.String())
		require.Equal(t, []string{
			`phone is left out: it is another customer's ("+237670000001"): line 1 (ada@example.com)`,
			`phone is that of a customer of the store, who gets what they lack and keeps what they have ("+237670000001"): line 2 (ada@example.com)`,
		}, notes(done.Notes))
		require.Len(t, s.customers(), 4)
	})
}

// The first value of each field counts. Counts and totals are summed, unless two rows are the same record.
func TestRowsOfOneCustomer(t *testing.T) {
	t.Parallel()
	const sums = "they are stored as one customer, with what the first row that has it says, and the sums of their counts and totals; a customer of the store keeps its own"
	for _, row := range []struct {
		reason string
		from   string
		text   string
		want   []string
		notes  []string
	}{
		{"two ids of Stripe with one e-mail", "stripe",
			"id,Email,Name,Phone,Payment Count,Total Spend\ncus_1,a@example.com,,,1,10\ncus_2,A@example.com,Ada,+237670000001,2,20\n",
			[]string{"Ada a@example.com +237670000001 3 30"},
			[]string{`Email is that of a row further up: ` + sums + ` ("A@example.com"): line 3 (line 2)`}},
		{"no id, and one e-mail", "", "email,name,ordersCount,total\na@example.com,Ada,1,10\na@example.com,Ida,2,20\n",
			[]string{"Ada a@example.com - 3 30"},
			[]string{`email is that of a row further up: ` + sums + ` ("a@example.com"): line 3 (line 2)`}},
		{"a phone, and the phone with an e-mail", "", "email,phone,total\n,670000001,10\na@example.com,+237670000001,20\n",
			[]string{" a@example.com +237670000001 0 30"},
			[]string{`phone is that of a row further up: ` + sums + ` ("+237670000001"): line 3 (line 2)`}},
		{"a row that makes two others one", "", "email,phone,name,total\n,670000001,Pam,1\na@example.com,,Ada,10\na@example.com,670000001,,20\n",
			[]string{"Pam a@example.com +237670000001 0 31"},
			[]string{sums + ": line 3 (line 2)", `email is that of a row further up: ` + sums + ` ("a@example.com"): line 4 (line 2)`}},
		{"a phone that stays its owner's", "",
			"email,phone,total\n,670000001,1\na@example.com,670000002,10\na@example.com,670000001,20\n",
			[]string{" - +237670000001 0 1", " a@example.com +237670000002 0 30"},
			[]string{`phone is left out: it is another customer's ("670000001"): line 4 (line 2)`,
				`email is that of a row further up: ` + sums + ` ("a@example.com"): line 4 (line 3)`}},
		{"one row twice", "", "email,total\na@example.com,10\na@example.com,10\n", []string{" a@example.com - 0 10"},
			[]string{"is left out: it is the same as a row further up: line 3 (line 2)"}},
		{"one id twice is one record", "", "id,email,name,total\n1,a@example.com,,10\n1,a@example.com,Ada,12\n",
			[]string{"Ada a@example.com - 0 10"},
			[]string{`id is that of a row further up: they are stored as one customer, with what the first row that has it says, ` +
				`and the first one's counts and totals ("1"): line 3 (line 2)`}},
		{"an e-mail in two ways of writing", "", "email,total\nÉve@example.com,10\n E\u0301VE@example.com,20\n",
			[]string{" éve@example.com - 0 30"},
			[]string{"email is that of a row further up: " + sums + " (\"E\u0301VE@example.com\"): line 3 (line 2)"}},
	} {
		for _, size := range []int{1, 2, 500} {
			s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
			o := options{Kind: customers, From: row.from}.InBatches(size)
			done, rejects := s.agreed(o, row.text)
			require.ElementsMatch(t, row.notes, notes(done.Notes), row.reason)
			require.Equal(t, row.want, described(s.customers()), row.reason)
			require.Equal(t, done.Repeated > 0, rejects != "", row.reason)
			before := s.state()
			done = s.load(o, []byte(row.text))
			require.Zero(t, done.Stored+done.Changed, row.reason)
			require.Equal(t, before, s.state(), row.reason)
		}
	}
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	_, err := s.try(options{Kind: customers}, []byte("id,email\n1,a@example.com\n1,b@example.com\n"))
	require.EqualError(t, err, `id is that of another line, which has another e-mail ("1"): line 3 (line 2)`)
	_, err = s.try(options{Kind: customers}, []byte("email,totalPaid\na@example.com,9007199254740991\na@example.com,1\n"))
	require.EqualError(t, err, `totalPaid takes the customer's totalPaid past 9007199254740991 ("1"): line 3`)
	require.Empty(t, s.customers())
	// A row of a stored customer may be merged into a later one, and the stored count and total stay.
	s.load(options{Kind: customers}, []byte("email,ordersCount,totalPaid\na@example.com,5,50\n"))
	s.load(options{Kind: customers, Update: true}, []byte("email,phone,ordersCount,totalPaid\n"+
		",670000001,2147483647,9007199254740991\na@example.com,670000001,10,100\n"))
	require.Equal(t, []string{" a@example.com +237670000001 5 50"}, described(s.customers()))
}

func described(all []*storefrontv1.Customer) []string {
	texts := make([]string, len(all))
	for i, c := range all {
		email, phone := c.GetEmail(), c.GetPhone()
		if c.Email == nil {
			email = "-"
		}
		if c.Phone == nil {
			phone = "-"
		}
		texts[i] = fmt.Sprintf("%s %s %s %d %d", c.GetName(), email, phone, c.GetOrdersCount(), c.GetTotalPaid())
	}
	slices.Sort(texts)
	return texts
}

// Empty fields are filled, as in the API. Another value changes nothing, and is reported.
func TestOrdersCompleteTheirCustomers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		s.load(options{Kind: customers}, []byte("email,name\na@example.com,\nb@example.com,Bea\n"))
		done, _ := s.agreed(options{Kind: orders}.InBatches(1), "reference,status,total,customer,email,phone,name\n"+
			"1,PAID,1,,a@example.com,670000001,Ada\n2,PAID,2,,b@example.com,,Beate\n3,PAID,3,,c@example.com,,\n4,PAID,4,77,C@example.com,670000003,Cleo\n")
		require.Equal(t, []string{
			`name is not stored: the customer keeps what they have ("Beate"): line 3 (b@example.com)`,
			`customer is not kept: the order is of the customer who has its email ("77"): line 5 (line 4)`,
		}, notes(done.Notes))
		require.Equal(t, []string{"Ada a@example.com +237670000001 1 1", "Bea b@example.com - 1 2",
			"Cleo c@example.com +237670000003 2 7"}, described(s.customers()))
	})
}

// Its customer's total is computed.
func TestAnOrderLeavesTheOwnerOfItsPhoneAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	s.load(options{Kind: customers}, []byte("email,phone,ordersCount,totalPaid\na@example.com,670000001,3,300\n"))
	s.load(options{Kind: orders}, []byte("reference,status,total,email,phone\n1,PAID,5,b@example.com,670000001\n"))
	require.Equal(t, []string{" a@example.com +237670000001 3 300", " b@example.com - 1 5"}, described(s.customers()))
}

func TestABatchThatTakesAnothersEmailIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	b.load(customers, transfertest.OneCustomer().With("email", "a@example.com").With("phone", "+237670000001").
		With("ordersCount", 3).With("totalPaid", 500))
	m := transfer.New(b.DB, nil)
	for _, row := range []struct {
		email, phone string
		match        bool
		want         string
	}{
		{"A@example.com", "", false, "email is another customer's"}, {"", "670000001", false, "phone is another customer's"},
		{"b@example.com", "670000001", true, "phone is another customer's"}, {"A@example.com", "", true, ""},
		{"", "670000001", true, ""},
	} {
		c := &storefrontv1.Customer{Id: "5f0c3c3e-0000-4000-8000-000000000002", Email: &row.email, Phone: &row.phone}
		out, err := m.Customers(b.Ctx, &adminv1.ImportCustomersRequest{Customers: []*storefrontv1.Customer{c},
			Options: &adminv1.ImportOptions{MatchCustomers: row.match, DryRun: true}})
		require.NoError(t, err)
		require.Len(t, out.GetCustomers(), 1)
		if row.want == "" {
			require.Equal(t, []int32{0}, out.GetSkippedRows())
			require.Empty(t, out.GetRefused())
		} else {
			require.Equal(t, row.want, out.GetRefused()[0].GetField()+" "+out.GetRefused()[0].GetMessage())
		}
		out, err = m.Orders(b.Ctx, &adminv1.ImportOrdersRequest{Options: &adminv1.ImportOptions{MatchCustomers: row.match, DryRun: true},
			Orders: []*storefrontv1.Order{{Id: "5f0c3c3e-0000-4000-8000-000000000003", Reference: "R", Status: storefrontv1.Order_FAILED,
				Customer: &storefrontv1.Order_Customer{Id: c.GetId(), Email: &row.email, Phone: &row.phone}}}})
		require.NoError(t, err)
		require.Len(t, out.GetCustomers(), 1)
		require.EqualValues(t, 500, out.GetCustomers()[0].GetTotalPaid(), "as it is now, and not as after the import")
		if row.want == "" {
			require.EqualValues(t, 1, out.GetStored())
		} else {
			require.Equal(t, "customer."+row.want, out.GetRefused()[0].GetField()+" "+out.GetRefused()[0].GetMessage())
		}
	}
	require.ElementsMatch(t, []string{"store.created", "store.imported"}, shoptest.Actions(b.Journal()))
}

func init() {
	if !need.Required() {
		_ = flag.Set("rapid.checks", "20") // of a hundred random files, unless the command line says otherwise
	}
}

// Whatever values rows share. The report names all rows that are not stored.
func TestEachRowIsStoredMergedOrLeftOut(t *testing.T) {
	t.Parallel()
	of := func(values ...string) *rapid.Generator[string] { return rapid.SampledFrom(values) }
	ids, names := of("", "", "1", "2", "3"), of("", "Ada", "Bea")
	emails := of("", "a@example.com", "A@example.com", "b@example.com", "c@example.com", "nobody")
	phones := of("", "670000001", "+237670000001", "670000002", "670000003", "12")
	skus := of("", "", "S1", "S2")
	columns := map[kind]string{customers: "id,email,phone,name,ordersCount,total", products: "id,sku,slug,title,price",
		orders: "reference,status,total,customer,email,phone,name,itemSku,itemTitle,itemPrice"}
	row := func(t *rapid.T, kind kind) string {
		switch kind {
		case customers:
			return fmt.Sprintf("%s,%s,%s,%s,%d,%d", ids.Draw(t, "id"), emails.Draw(t, "email"), phones.Draw(t, "phone"),
				names.Draw(t, "name"), rapid.IntRange(0, 2).Draw(t, "orders"), rapid.IntRange(0, 3).Draw(t, "total"))
		case products:
			return fmt.Sprintf("%s,%s,%s,%s,%d", ids.Draw(t, "id"), skus.Draw(t, "sku"), of("", "cup", "mug").Draw(t, "slug"),
				of("", "Cup", "Mug", "Jar").Draw(t, "title"), rapid.IntRange(1, 2).Draw(t, "price"))
		}
		return fmt.Sprintf("%s,PAID,%s,%s,%s,%s,%s,%s,%s,%s", of("R1", "R2", "R3", "R4", "R5", "R6").Draw(t, "reference"),
			of("", "1", "2").Draw(t, "total"), ids.Draw(t, "customer"), emails.Draw(t, "email"), phones.Draw(t, "phone"),
			names.Draw(t, "name"), skus.Draw(t, "sku"), of("", "Cup", "Jar").Draw(t, "item"), of("", "1", "2").Draw(t, "price"))
	}
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		stores := 0
		rapid.Check(t, func(rt *rapid.T) {
			stores++
			s := newStoreOf(t, d, fmt.Sprint("store-", stores))
			s.t = rt
			for _, kind := range []kind{products, customers, orders, customers, orders} {
				rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return row(t, kind) }), 1, 7).Draw(rt, string(kind))
				o := options{Kind: kind, SkipBad: true}.InBatches(rapid.IntRange(1, 4).Draw(rt, "batch"))
				before := s.customers()
				text := columns[kind] + "\n" + strings.Join(rows, "\n") + "\n"
				done, rejects := s.agreed(o, text)
				if done.Bad == done.Lines {
					continue
				}
				named := map[int]string{}
				for _, r := range slices.Concat(done.Problems, done.Notes) {
					if strings.Contains(r.Problem, "is left out: it must be") || strings.Contains(r.Problem, "is another customer's") {
						continue
					}
					for _, lines := range r.Lines {
						for line := lines[0]; line <= lines[1]; line++ {
							named[line] += r.Problem
						}
					}
				}
				if kind != orders { // a stored order may have several lines, and remarks about its customer
					require.Equal(rt, len(rows), done.Lines, text)
					require.Len(rt, named, done.Lines-done.Stored, "%s%v", text, notes(slices.Concat(done.Problems, done.Notes)))
				}
				require.Equal(rt, done.Bad+done.Repeated+done.LeftOut > 0, rejects != "", text)
				if kind == customers {
					s.checkTotals(before, rows, named)
				}
				for _, o := range s.orders() {
					require.NotEmpty(rt, o.GetCustomer().GetId())
					for _, item := range o.GetItems() {
						require.NotEmpty(rt, item.GetTitle(), text)
						require.Positive(rt, item.GetUnitAmount(), text)
					}
				}
				if done.Bad > 0 {
					// A second import may store more rows: an order is bad until its customer is stored.
					continue
				}
				state := s.state()
				again := s.load(o, []byte(text))
				require.Zero(rt, again.Stored+again.Changed, text)
				require.Equal(rt, state, s.state(), text)
			}
		})
	})
}

// checkTotals requires that the sum of total_paid has grown by that of the rows that were stored or added to others, or by less
// for stored customers. remarks has the other rows' reasons by line.
func (s store) checkTotals(before []*storefrontv1.Customer, rows []string, remarks map[int]string) {
	s.t.Helper()
	want, has, known := 0, map[string]bool{}, false
	for _, c := range before {
		want += int(c.GetTotalPaid())
	}
	for i, text := range rows {
		values := strings.Split(text, ",")
		known = known || strings.Contains(remarks[i+2], "customer of the store, who")
		if why := remarks[i+2]; why == "" || strings.Contains(why, "the sums of") {
			var total int
			_, _ = fmt.Sscan(values[5], &total)
			want += total
			has[strings.ToLower(values[1])] = values[1] != ""
		}
	}
	after := by(s.customers(), (*storefrontv1.Customer).GetEmail)
	got := 0
	for _, c := range s.customers() {
		got += int(c.GetTotalPaid())
	}
	// A stored customer keeps the stored total.
	if known {
		require.LessOrEqual(s.t, got, want, "%v", rows)
	} else {
		require.Equal(s.t, want, got, "%v", rows)
	}
	delete(has, "")
	for email := range has {
		require.Contains(s.t, after, email, "%v", rows)
	}
}
