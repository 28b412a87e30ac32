package conformance_test

import (
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

var _ = cases(
	scenario{
		name: "a key reaches nothing of another store, by any operation",
		run: func(b *bench) {
			other := b.newBench(b.T, b.protocol)
			product, customer, link := other.product("Guide", 1500), other.customer("Ada", "ada@example.com"), other.link("Atelier")
			order := other.order(product, 1, "ada@example.com")
			other.disable(link)
			targets := map[string]string{
				product: "/v1/products/", customer: "/v1/customers/", link: "/v1/payment-links/", order: "/v1/orders/",
			}
			before := map[string]string{}
			for id, path := range targets {
				before[id] = string(other.get(path + id))
			}
			entries, events := len(other.entries()), len(other.events())
			b.leavesNothing(func() {
				for _, row := range []struct {
					code string
					m    proto.Message
				}{
					{"product_not_found", &getProduct{Id: product}},
					{"product_not_found", &updateProduct{Id: product, Title: new("x"), Status: archived}},
					{"product_not_found", &updateProduct{Id: product}},
					{"order_not_found", &getOrder{Id: order}},
					{"customer_not_found", &getCustomer{Id: customer}},
					{"customer_not_found", &updateCustomer{Id: customer, Name: new("x"), Email: new("x@example.com")}},
					{"payment_link_not_found", &getLink{Id: link}},
					{"payment_link_not_found", &updateLink{Id: link, Title: new("x")}},
					{"payment_link_not_found", &enableLink{Id: link}},
				} {
					require.Nil(b, b.refused(row.m, 404, row.code))
				}
				for _, list := range []proto.Message{
					&listProducts{}, &listProducts{Q: new("guide")}, &listOrders{}, &listOrders{Status: pending()}, &listCustomers{},
					&listCustomers{Q: new("ada")}, &listLinks{},
				} {
					b.requireFields(b.call(list), object{"total": 0, "data": []any{}})
				}
			})
			for id, path := range targets {
				require.Equal(b, before[id], string(other.get(path+id)))
			}
			require.Len(b, other.entries(), entries)
			require.Len(b, other.events(), events)
			b.created(&createCustomer{Email: new("ada@example.com")}, 201)
			b.requireFields(other.call(&getCustomer{Id: customer}), object{"name": "Ada"})
		},
	},
)
