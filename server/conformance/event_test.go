package conformance_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/shop"
)

// The data of every event has exactly the bytes that GET answers right after the change.
func TestEvents(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name string
		// make makes a change that sends events, and returns the address of the changed resource.
		make func(b *bench) (target string)
		want []string
	}{
		{"product.published", func(b *bench) string {
			id := b.product("Guide", 1500)
			b.call(&updateProduct{Id: id, Status: published, Title: new("Guide <2> & é"), Description: new("<2> & \u2028 é")})
			return "/v1/products/" + id
		}, []string{"product.published"}},
		{"product.published from the dashboard", func(b *bench) string {
			return "/v1/products/" + b.product("Guide", 1500, withStatus("PUBLISHED"))
		}, []string{"product.published"}},
		{"product.archived", func(b *bench) string {
			id := b.product("Guide", 1500)
			b.call(&updateProduct{Id: id, Status: archived})
			return "/v1/products/" + id
		}, []string{"product.archived"}},
		{"customer.created through the API", func(b *bench) string {
			return "/v1/customers/" + b.call(&createCustomer{Name: "Ada", Email: new("ada@example.com")})["id"].(string)
		}, []string{"customer.created"}},
		{"customer.created by a first purchase, which is counted", func(b *bench) string {
			o := b.call(&getOrder{Id: b.order(b.product("Guide", 1500), 1, "ada@example.com")})
			return "/v1/customers/" + o["customer"].(map[string]any)["id"].(string)
		}, []string{"customer.created"}},
		{"order.paid", func(b *bench) string {
			b.customer("Ada", "ada@example.com")
			id := b.order(b.product("Guide", 1500), 2, "ada@example.com")
			b.pay(id)
			return "/v1/orders/" + id
		}, []string{"order.paid"}},
		{"order.failed", func(b *bench) string {
			b.customer("Ada", "ada@example.com")
			id := b.order(b.product("Guide", 1500), 2, "ada@example.com")
			_, err := b.MoveOrder(b.ctx, id, "FAILED")
			require.NoError(b, err)
			return "/v1/orders/" + id
		}, []string{"order.failed"}},
		{"order.paid and payment_link.paid for the same order", func(b *bench) string {
			b.customer("Ada", "ada@example.com")
			id := b.linkOrder(b.link("Atelier"), "ada@example.com")
			b.pay(id)
			return "/v1/orders/" + id
		}, []string{"order.paid", "payment_link.paid"}},
	}
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			s := newService(t, database, settings{})
			for _, row := range rows {
				t.Run(row.name, func(t *testing.T) {
					b := s.newBench(t, restProtocol{})
					target := row.make(b)
					answer := b.get(target)
					events := b.events()
					if row.want[0] != "customer.created" && len(events) > len(row.want) {
						require.Equal(t, "customer.created", events[0].kind)
						events = events[1:]
					}
					require.Len(t, events, len(row.want))
					ids := map[string]bool{}
					for i, e := range events {
						require.Equal(t, row.want[i], e.kind)
						require.Equal(t, string(answer), string(e.data), "byte for byte what GET answers")
						envelope := decodedObject(b, e.payload)
						id := envelope["id"].(string)
						require.Regexp(t, uuidForm, id)
						ids[id] = true
						b.same(object{
							"id": id, "type": row.want[i], "createdAt": envelope["createdAt"],
							"store": object{"id": b.store.ID.String(), "slug": b.store.Slug}, "data": decoded(b, answer),
						}, envelope)
						b.moment(envelope["createdAt"])
						require.Equal(t, `{"id":"`+id+`","type":"`+row.want[i]+`","createdAt":"`+envelope["createdAt"].(string)+
							`","store":{"id":"`+b.store.ID.String()+`","slug":"`+b.store.Slug+`"},"data":`+string(answer)+`}`, string(e.payload))
					}
					require.Len(t, ids, len(row.want), "an event has an id of its own")
					got := decodedObject(b, answer)
					switch row.want[0] {
					case "customer.created":
						want := json.Number("0")
						if row.name != "customer.created through the API" {
							want = "1"
						}
						require.Equal(t, want, got["ordersCount"])
					case "order.failed":
						b.requireFields(got, object{"status": "FAILED", "paidAt": nil})
					case "order.paid":
						b.moment(got["paidAt"])
						b.requireFields(got, object{"status": "PAID"})
						require.Equal(t, len(row.want) == 2, got["paymentLink"] != nil)
					}
				})
			}
		})
	}
}

// Neither order nor customer, journal entry nor event of a new customer's refused first order.
func TestRefusalsLeaveNothing(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			b := newService(t, database, settings{}).newBench(t, restProtocol{})
			id := b.product("Guide", 1500)
			b.leavesNothing(func() {
				_, err := b.RecordOrder(b.ctx, shop.OrderDraft{
					Buyer: shop.Buyer{Email: new("new@example.com")}, Lines: []shop.OrderLine{{ProductID: id, Quantity: 1},
						{ProductID: unknownID(), Quantity: 1}},
				})
				require.ErrorContains(t, err, "product_not_found")
			})
			b.requireFields(b.call(&listCustomers{}), object{"total": 0})
			b.requireFields(b.call(&listOrders{}), object{"total": 0})
		})
	}
}
