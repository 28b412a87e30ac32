package conformance_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

type trips struct {
	mu      sync.Mutex
	queries []string
}

// periodic has parts of the statements that a server sends every few seconds.
var periodic = []string{
	"DELETE FROM row_deltas", "SELECT DISTINCT store_id FROM row_deltas", "last_used_at =", "DELETE FROM address_counters",
	"INSERT INTO rate_counters (", "INSERT INTO tallies", "INSERT INTO refused_requests", "DELETE FROM refused_requests",
}

func (r *trips) observe(query string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Preparing, once for each connection, and periodic statements belong to no request.
	if query == "prepare" || slices.ContainsFunc(periodic, func(part string) bool { return strings.Contains(query, part) }) {
		return
	}
	r.queries = append(r.queries, query)
}

func (r *trips) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.queries
	r.queries = nil
	return taken
}

// singleStore requires a condition on the store's id, so that one machine can answer.
func singleStore(t *testing.T, d *db.DB, statements []string) {
	t.Helper()
	slices.Sort(statements)
	shards := dbtest.NewShards(t, d)
	for _, query := range slices.Compact(statements) {
		switch query {
		case "BEGIN", "COMMIT", "ROLLBACK":
		default:
			require.Empty(t, shards.CrossStoreTables(query), "tables read without the store by: %s", query)
		}
	}
}

// The number is fixed, and the first looks up the key, its store and its counter. Each statement reads one store's rows.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	var ids struct{ product, order, customer, link, disabled string }
	const (
		key         = 1
		transaction = 2 // BEGIN and COMMIT
		rollback    = 2 // BEGIN and ROLLBACK
		journal     = 1 // storing the journal entry
		event       = 2 // storing the event, and finding its webhooks
	)
	type row struct {
		name   string
		m      func() proto.Message
		want   int
		reason string
	}
	rows := []row{
		{"GetStore", func() proto.Message { return &getStore{} }, key + 1, "the store's row"},
		{"GetProduct", func() proto.Message { return &getProduct{Id: ids.product} }, key + 1, "the row"},
		{"GetOrder", func() proto.Message { return &getOrder{Id: ids.order} }, key + 1, "one join with customer, items and link"},
		{"GetCustomer", func() proto.Message { return &getCustomer{Id: ids.customer} }, key + 1, "the row"},
		{"GetPaymentLink", func() proto.Message { return &getLink{Id: ids.link} }, key + 1, "the row"},
		{"an id that is no UUID", func() proto.Message { return &getProduct{Id: "x"} }, key, "nothing to look for"},
		{"ListProducts", func() proto.Message { return &listProducts{} }, key + 1, "total and page"},
		{"ListProducts with a search", func() proto.Message { return &listProducts{Q: new("gui")} }, key + 1, "total and page"},
		{"ListProducts beyond the end", func() proto.Message { return &listProducts{Page: new(int64(9))} }, key + 1, "the same"},
		{"ListOrders", func() proto.Message { return &listOrders{} }, key + 1, "total and page, items and all"},
		{"ListOrders of a status", func() proto.Message { return &listOrders{Status: pending()} }, key + 1, "total and page"},
		{"ListCustomers", func() proto.Message { return &listCustomers{} }, key + 1, "total and page"},
		{"ListCustomers with a search", func() proto.Message { return &listCustomers{Q: new("ada")} }, key + 1, "total and page"},
		{"ListPaymentLinks", func() proto.Message { return &listLinks{} }, key + 1, "total and page"},
		{"a refused query", func() proto.Message { return &listOrders{Page: new(int64(0))} }, key,
			"refused before the database is asked"},
		{"UpdateProduct", func() proto.Message { return &updateProduct{Id: ids.product, Title: new("Guide 2")} },
			key + transaction + 3 + journal,
			"the row, locked; the change; the row as it is then"},
		{"UpdateProduct that changes nothing", func() proto.Message { return &updateProduct{Id: ids.product} }, key + transaction + 1,
			"the row, locked"},
		{"UpdateProduct with an event", func() proto.Message { return &updateProduct{Id: ids.product, Status: archived} },
			key + transaction + 3 + journal + event,
			"the same, and the event"},
		{"UpdateProduct of no product", func() proto.Message { return &updateProduct{Id: unknownID()} }, key + rollback + 1,
			"the look for it"},
		{"CreateCustomer", func() proto.Message { return &createCustomer{Email: new("new@example.com")} }, key + transaction + 2 +
			journal + event,
			"the look for a known one; the insert"},
		{"CreateCustomer that is known", func() proto.Message { return &createCustomer{Email: new("ada@example.com")} },
			key + transaction + 1, "the look"},
		{"CreateCustomer that completes", func() proto.Message {
			return &createCustomer{Email: new("new@example.com"), Name: "New"}
		}, key + transaction + 3 + journal, "the look; the change; the row as it is then"},
		{"UpdateCustomer", func() proto.Message { return &updateCustomer{Id: ids.customer, Name: new("Ada 2")} },
			key + transaction + 3 + journal,
			"the row, locked; the change; the row as it is then"},
		{"UpdateCustomer of its e-mail", func() proto.Message {
			return &updateCustomer{Id: ids.customer,
				Email: new("ada2@example.com")}
		},
			key + transaction + 4 + journal, "and the look for another with it"},
		{"CreatePaymentLink", func() proto.Message {
			return &createLink{Title: "x", Pricing: storefrontv1.PaymentLink_FIXED, Amount: new(int64(5))}
		},
			key + transaction + 2 + journal, "the store's address; the insert"},
		{"UpdatePaymentLink", func() proto.Message { return &updateLink{Id: ids.link, Title: new("y")} }, key + transaction + 3 +
			journal,
			"the row, locked; the change; the row as it is then"},
		{"EnablePaymentLink", func() proto.Message { return &enableLink{Id: ids.disabled} }, key + transaction + 3 + journal,
			"the row, locked; the change; the row as it is then"},
		{"EnablePaymentLink of an enabled one", func() proto.Message { return &enableLink{Id: ids.disabled} }, key + transaction + 1,
			"the row, locked"},
	}
	for _, op := range document().Operations() {
		require.True(t, slices.ContainsFunc(rows, func(r row) bool {
			return strings.HasPrefix(strings.ToLower(r.name),
				strings.ToLower(op.ID))
		}), op.ID)
	}
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			recorded := &trips{}
			var all []string
			b := newService(t, database, settings{observe: recorded.observe}).newBench(t, restProtocol{})
			ids.product, ids.customer, ids.link = b.product("Guide", 1500), b.customer("Ada", "ada@example.com"), b.link("Atelier")
			ids.order, ids.disabled = b.order(ids.product, 1, "ada@example.com"), b.link("Disabled")
			b.disable(ids.disabled)
			for _, row := range rows {
				m := row.m()
				recorded.take()
				a := b.answer(m)
				took := recorded.take()
				all = append(all, took...)
				require.Less(t, a.status, 500)
				require.Len(t, took, row.want, "%s: %s\n%s", row.name, row.reason, strings.Join(took, "\n"))
			}
			recorded.take()
			b.withKey("").answer(&getStore{})
			require.Empty(t, recorded.take(), "a key that is missing costs nothing")
			b.withKey("malformed").answer(&getStore{})
			require.Len(t, recorded.take(), key, "one that is malformed is counted and not looked up")
			if database == dbtest.Postgres {
				// Also record the statements of orders, of payments, and of the second pages of lists.
				guide := b.product("Guide 3", 1500)
				all = append(all, recorded.take()...)
				for buyer, want := range map[string]int{"first@example.com": transaction + 5 + journal + event,
					"new@example.com": transaction + 5 + journal} {
					id := b.order(guide, 1, buyer)
					took := recorded.take()
					require.Len(t, took, want, "the buyer; the products; the order; its item; the buyer's row or count:\n%s",
						strings.Join(took, "\n"))
					b.pay(id)
					paid := recorded.take()
					require.Len(t, paid, transaction+4+journal+event, "the order, locked; the change; the row as it is then; the buyer's "+
						"total:\n%s", strings.Join(paid, "\n"))
					all = append(all, append(took, paid...)...)
				}
				b.pay(b.linkOrder(ids.disabled, "new@example.com"))
				require.Len(t, recorded.take(), transaction+4+journal+transaction+6+journal+event,
					"the link is locked, both times, and its payment counted")
				b.pay(b.linkOrder(ids.disabled, "new@example.com"))
				for _, m := range []proto.Message{&listOrders{Page: new(int64(2)), PageSize: new(int32(1))},
					&listCustomers{Page: new(int64(2)), PageSize: new(int32(1))}} {
					require.NotEmpty(t, b.data(b.call(m)))
				}
				all = append(all, recorded.take()...)
				singleStore(t, b.installation.db, all)
			}
		})
	}
}
