package conformance_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/shop"
)

// One gets 201, the others 200, and all get the same customer.
func TestHundredPostsOfOneEmail(t *testing.T) {
	t.Parallel()
	const posts = 100
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			b := newService(t, database, settings{realTime: true}).newBench(t, restProtocol{})
			keys := []string{b.key}
			for i := range 4 { // several keys, because a key may make only 120 requests a minute
				key, _ := b.newKey(fmt.Sprint("tool ", i), "never", auth.ScopeCustomersWrite)
				keys = append(keys, key)
			}
			n, sent := len(b.entries()), len(b.events())
			var statuses sync.Map
			var ids sync.Map
			start := make(chan struct{})
			var done sync.WaitGroup
			for i := range posts {
				done.Go(func() {
					<-start
					a, text := b.withKey(keys[i%len(keys)]).insist("POST", "/v1/customers", []byte(`{"email":"Ada@Example.com"}`))
					counter, _ := statuses.LoadOrStore(a.status, new(atomic.Int32))
					counter.(*atomic.Int32).Add(1)
					ids.Store(decodedObject(b, text)["id"], true)
				})
			}
			close(start)
			done.Wait()
			require.Equal(t, map[int]int32{http.StatusCreated: 1, http.StatusOK: posts - 1}, counted(&statuses))
			var different int
			ids.Range(func(any, any) bool { different++; return true })
			require.Equal(t, 1, different)
			b.requireFields(b.call(&listCustomers{}), object{"total": 1})
			require.Equal(t, []string{"customer.created"}, b.sentSince(sent))
			require.Len(t, b.entries(), n+1)
		})
	}
}

func counted(statuses *sync.Map) map[int]int32 {
	out := map[int]int32{}
	statuses.Range(func(status, n any) bool {
		out[status.(int)] = n.(*atomic.Int32).Load()
		return true
	})
	return out
}

// Each journal entry begins with the value with which the previous one ended, so no change is lost.
func TestConcurrentUpdates(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			b := newService(t, database, settings{realTime: true}).newBench(t, restProtocol{})
			id := b.product("Guide", 1000)
			n := len(b.entries())
			var done sync.WaitGroup
			for i := range 30 {
				done.Go(func() {
					a, _ := b.insist("PATCH", "/v1/products/"+id, fmt.Appendf(nil, `{"priceAmount":%d}`, 2000+i))
					require.Equal(t, http.StatusOK, a.status)
				})
			}
			done.Wait()
			entries := b.entries()[n:]
			require.Len(t, entries, 30)
			next := map[any]any{}
			for _, e := range entries {
				c := e.changes["priceAmount"].(map[string]any)
				require.NotContains(t, next, c["from"], "two changes of the same price: one was lost")
				next[c["from"]] = c["to"]
			}
			price := normal(b, 1000)
			for range 30 {
				price = next[price]
				require.NotNil(t, price)
			}
			require.Equal(t, price, b.call(&getProduct{Id: id})["priceAmount"])
		})
	}
}

// Fifty clients read a link with at most ten payments, order for one new customer, and pay. None that has read that it is
// exhausted gets an order, the counters match, and every request ends.
func TestFiftyPayers(t *testing.T) {
	t.Parallel()
	const payers, limit = 50, 10
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			b := newService(t, database, settings{realTime: true}).newBench(t, restProtocol{})
			link := b.link("Atelier", capped(limit))
			sent := len(b.events())
			var paid, refused atomic.Int32
			var group errgroup.Group
			for range payers {
				group.Go(func() error {
					before := decodedObject(b, b.get("/v1/payment-links/"+link))
					o, err := b.RecordOrder(b.ctx, shop.OrderDraft{Buyer: shop.Buyer{Email: new("ada@example.com")},
						PaymentLinkID: link})
					if err != nil {
						if apierr.FromError(err, func(error) bool { return false }).Code != apierr.PaymentLinkUnavailable {
							return err
						}
						refused.Add(1)
						return nil
					}
					if before["availability"] != "ACTIVE" {
						return fmt.Errorf("an order was recorded for a link that was %s before", before["availability"])
					}
					paid.Add(1)
					_, err = b.MoveOrder(b.ctx, o.GetId(), "PAID")
					return err
				})
			}
			require.NoError(t, group.Wait())
			require.EqualValues(t, payers, paid.Load()+refused.Load())
			require.GreaterOrEqual(t, paid.Load(), int32(limit))
			b.requireFields(b.call(&getLink{Id: link}), object{"paidCount": paid.Load(), "paidAmount": 500 * paid.Load(),
				"availability": "EXHAUSTED"})
			customers := b.call(&listCustomers{})
			b.requireFields(customers, object{"total": 1})
			b.requireFields(b.data(customers)[0], object{"ordersCount": paid.Load(), "totalPaid": 500 * paid.Load()})
			b.requireFields(b.call(&listOrders{}), object{"total": paid.Load()})
			require.Len(t, b.sentSince(sent), 1+2*int(paid.Load()), "customer.created, and order.paid and payment_link.paid for each")
		})
	}
}
