package conformance_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Rows of the same millisecond are sorted by id, so that no page repeats or misses one.
func TestTies(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			b := newService(t, database, settings{}).newBench(t, restProtocol{})
			var products, orders, customers, links []string
			guide := b.product("Guide", 100)
			products = append(products, guide)
			for i := range 7 {
				products = append(products, b.product("Guide", 100))
				customers = append(customers, b.customer("Ada", fmt.Sprintf("ada%d@example.com", i)))
				orders = append(orders, b.order(guide, 1, "ada0@example.com"))
				links = append(links, b.link("Atelier"))
			}
			require.Equal(t, "2026-10-01T12:00:30.000Z", b.call(&getProduct{Id: guide})["createdAt"], "the clock stands still")
			for path, ids := range map[string][]string{"products": products, "orders": orders, "customers": customers,
				"payment-links": links} {
				slices.Sort(ids)
				slices.Reverse(ids)
				var got []string
				for page := 1; len(got) < len(ids); page++ {
					list := b.json("GET", fmt.Sprintf("/v1/%s?pageSize=3&page=%d", path, page), "").body
					b.requireFields(list, object{"total": len(ids), "page": page, "pageSize": 3})
					names := b.names(list, "id")
					require.NotEmpty(t, names, path)
					got = append(got, names...)
				}
				require.Equal(t, ids, got, path)
			}
			// A page stays the same while such rows change on other pages.
			first := b.json("GET", "/v1/orders?pageSize=3", "").body
			b.pay(orders[0])
			b.requireFields(b.json("GET", "/v1/orders?pageSize=3", "").body, object{"total": first["total"]})
			require.Equal(t, b.names(first, "id"), b.names(b.json("GET", "/v1/orders?pageSize=3", "").body, "id"))
		})
	}
}

// lists has all lists, without a filter, with one and with several. args follow the store's id in the statement.
func lists() []struct {
	m    proto.Message
	args []any
} {
	from, to := opening.AddDate(0, 0, -10), opening.AddDate(1, 0, 0)
	status, kind := storefrontv1.Product_PUBLISHED.Enum(), storefrontv1.Product_COURSE.Enum()
	return []struct {
		m    proto.Message
		args []any
	}{
		{&listProducts{}, nil},
		{&listProducts{Page: new(int64(2))}, nil},
		{&listProducts{Status: status}, []any{"PUBLISHED"}},
		{&listProducts{Type: kind}, []any{"COURSE"}},
		{&listProducts{Status: status, Type: kind}, []any{"PUBLISHED", "COURSE"}},
		{&listProducts{Q: new("guide 7")}, []any{"%guide 7%"}},
		{&listProducts{Q: new("guide 7"), Status: status, Type: kind}, []any{"%guide 7%", "PUBLISHED", "COURSE"}},
		{&listProducts{Q: new("7")}, []any{"%7%"}},
		{&listOrders{}, nil},
		{&listOrders{Page: new(int64(2))}, nil},
		{&listOrders{Status: storefrontv1.Order_PAID.Enum()}, []any{"PAID"}},
		{&listOrders{From: timestamppb.New(from)}, nil},
		{&listOrders{To: timestamppb.New(to)}, nil},
		{&listOrders{Status: storefrontv1.Order_PAID.Enum(), From: timestamppb.New(from), To: timestamppb.New(to)}, []any{"PAID"}},
		{&listCustomers{}, nil},
		{&listCustomers{Page: new(int64(2))}, nil},
		{&listCustomers{Q: new("buyer 7")}, []any{"%buyer 7%"}},
		{&listCustomers{Q: new("7")}, []any{"%7%"}},
		{&listCustomers{Q: new("+237 67 00 7")}, []any{"%+237 67 00 7%", "%\x1f%\x1f%23767007%"}},
		{&listLinks{}, nil},
		{&listLinks{Status: storefrontv1.ListPaymentLinksRequest_active.Enum()}, []any{opening}},
		{&listLinks{Status: storefrontv1.ListPaymentLinksRequest_inactive.Enum()}, []any{opening}},
	}
}

var (
	seqScan  = regexp.MustCompile(`Seq Scan on (products|orders|customers|payment_links|order_items)\b`)
	scan     = regexp.MustCompile(`(?m)^SCAN ([a-z]\w*)`)
	subquery = regexp.MustCompile(`(?m)^(?:CO-ROUTINE|MATERIALIZE) (\w+)$`)
)

// scanned reports whether a plan reads a whole table or index. SQLite's SCAN of a subquery or a CONSTANT ROW does not count.
func scanned(plan string) bool {
	if seqScan.MatchString(plan) {
		return true
	}
	var found []string
	for _, name := range subquery.FindAllStringSubmatch(plan, -1) {
		found = append(found, name[1])
	}
	return slices.ContainsFunc(scan.FindAllStringSubmatch(plan, -1), func(name []string) bool {
		return !slices.Contains(found, name[1])
	})
}

// One that begins with the store, by the plans of the recorded statements with twenty stores.
func TestListsUseAnIndex(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			if database == dbtest.Postgres {
				dbtest.OnePostgres(t, "shards as small as a test's are read whole")
			}
			recorded := &trips{}
			s := newService(t, database, settings{observe: recorded.observe})
			b := s.newBench(t, restProtocol{})
			for range 19 {
				s.newBench(t, restProtocol{}).fill(300)
			}
			b.fill(300)
			if s.db.Dialect() == dialect.Postgres {
				_, err := s.db.Writer().Exec("ANALYZE")
				require.NoError(t, err)
			}
			for _, row := range lists() {
				recorded.take()
				list := b.call(row.m)
				require.NotEmpty(t, b.data(list), "%v", row.m)
				for _, query := range recorded.take()[1:] {
					args := append([]any{b.store.ID}, row.args...)
					for n := len(args) + 1; strings.Contains(query, fmt.Sprintf("$%d", n)); n++ {
						if strings.Contains(query, fmt.Sprintf("CAST($%d AS timestamptz)", n)) {
							args = append(args, opening)
						} else {
							args = append(args, 25) // any number will do: it is an offset, or a number of days
						}
					}
					plan := b.plan(query, args...)
					require.False(t, scanned(plan), "%v\n%s\n%s", row.m, query, plan)
					require.NotRegexp(t, `SEARCH [a-z] USING .*\(store_id=\?\)`, plan, "a join that reads all rows of the store\n%s", query)
					require.Regexp(t, `(?i)index.*store_id|(product|customer)_search`, plan, "the index that starts with the store\n%s", query)
				}
			}
		})
	}
}

func (b *bench) plan(query string, args ...any) string {
	b.Helper()
	explain := "EXPLAIN "
	if b.installation.db.Dialect() == dialect.SQLite {
		explain = "EXPLAIN QUERY PLAN "
	}
	rows, err := b.installation.db.Reader().Query(explain+query, args...)
	require.NoError(b, err, query)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(b, err)
	var plan strings.Builder
	for rows.Next() {
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(any)
		}
		require.NoError(b, rows.Scan(cells...))
		switch text := (*cells[len(cells)-1].(*any)).(type) {
		case []byte:
			plan.Write(text)
		default:
			fmt.Fprint(&plan, text)
		}
		plan.WriteByte('\n')
	}
	require.NoError(b, rows.Err())
	return plan.String()
}

// fill inserts n rows of each kind by SQL, because the shop would take too long.
func (b *bench) fill(n int) {
	b.Helper()
	id, at, from := "gen_random_uuid()", "$2::timestamptz - i * interval '1 minute'", "FROM generate_series(1, $3::int) AS n (i)"
	number, sep := "$1::uuid", "chr(31)"
	if b.installation.db.Dialect() == dialect.SQLite {
		id = "lower(printf('%s-%s-7%s-a%s-%s', hex(randomblob(4)), hex(randomblob(2)), substr(hex(randomblob(2)), 2), " +
			"substr(hex(randomblob(2)), 2), hex(randomblob(6))))"
		at, number, sep = "$2 - i * 60000", "$1", "char(31)"
		from = "FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $3) SELECT i FROM n) AS n"
	}
	statements := []string{
		`INSERT INTO products (id, store_id, title, title_folded, slug, type, status, price_amount, url, created_at, updated_at)
		 SELECT {id}, {store}, 'Guide ' || i, 'guide ' || i, 'guide-' || i, CASE i % 2 WHEN 0 THEN 'FILE' ELSE 'COURSE' END,
		 CASE (i / 2) % 2 WHEN 0 THEN 'DRAFT' ELSE 'PUBLISHED' END, 100, 'https://x.example', {at}, {at} {from}`,
		`INSERT INTO customers (id, store_id, name, email, search, created_at, updated_at)
		 SELECT {id}, {store}, 'Buyer ' || i, 'b' || i || '@example.com', 'buyer ' || i || {sep} || {sep} || '+2376700' || i, {at}, {at} {from}`,
		`INSERT INTO payment_links (id, store_id, code, url, title, pricing, amount, disabled_at, created_at, updated_at)
		 SELECT {id}, {store}, 'c' || i, 'https://x.example', 'L', 'FIXED', 5, CASE i % 2 WHEN 0 THEN {at} END, {at}, {at} {from}`,
		`INSERT INTO orders (id, store_id, customer_id, reference, status, amount, platform_fee_percent, created_at, updated_at)
		 SELECT {id}, {store}, (SELECT c.id FROM customers c WHERE c.store_id = {store} LIMIT 1), 'R' || i, CASE i % 2 WHEN 0 THEN 'PAID' ELSE 'PENDING' END,
		 5, 0, {at}, {at} {from}`,
		`INSERT INTO order_items (id, store_id, order_id, position, product_id, type, title, unit_amount, quantity)
		 SELECT {id}, o.store_id, o.id, 0, {id}, 'FILE', 'Guide', 5, 1 FROM orders o WHERE o.store_id = {store}`,
	}
	fill := strings.NewReplacer("{id}", id, "{store}", number, "{at}", at, "{from}", from, "{sep}", sep)
	for _, statement := range statements {
		args := []any{b.store.ID, opening, n}
		if strings.HasPrefix(statement, "INSERT INTO order_items") {
			args = args[:1]
		}
		_, err := b.installation.db.Writer().Exec(fill.Replace(statement), args...)
		require.NoError(b, err, statement)
	}
}
