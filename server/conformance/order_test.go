package conformance_test

import (
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
)

type (
	listOrders = storefrontv1.ListOrdersRequest
	getOrder   = storefrontv1.GetOrderRequest
)

var _ = cases(
	scenario{
		name: "an order of the catalogue has every field",
		run: func(b *bench) {
			guide, course := b.product("Guide", 1500), b.product("Cours", 20000, withType(product.TypeCOURSE))
			o, err := b.RecordOrder(b.ctx, shop.OrderDraft{
				Buyer: shop.Buyer{Name: "Ada Ndé", Email: new("Ada@Example.com"), Phone: new("670 00 00 03")}, Note: new("Merci !"),
				Lines: []shop.OrderLine{{ProductID: course, Quantity: 1}, {ProductID: guide, Quantity: 3}},
			})
			require.NoError(b, err)
			got := b.call(&getOrder{Id: o.GetId()})
			require.Regexp(b, `^ORD-[0-9A-Z]{10}$`, got["reference"])
			items := got["items"].([]any)
			require.Len(b, items, 2)
			require.Regexp(b, uuidForm, items[0].(map[string]any)["id"])
			want := object{
				"id": o.GetId(), "reference": got["reference"], "status": "PENDING", "amount": 24500, "currency": "XAF",
				"platformFeePercent": 2.5,
				"customer": object{"id": o.GetCustomer().GetId(), "name": "Ada Ndé", "email": "ada@example.com",
					"phone": "+237670000003"},
				"items": []any{
					object{"id": items[0].(map[string]any)["id"], "productId": course, "type": "COURSE", "title": "Cours", "unitAmount": 20000,
						"quantity": 1},
					object{"id": items[1].(map[string]any)["id"], "productId": guide, "type": "FILE", "title": "Guide", "unitAmount": 1500,
						"quantity": 3},
				},
				"paymentLink": nil, "note": "Merci !", "paidAt": nil, "createdAt": got["createdAt"],
			}
			b.same(want, got)

			b.call(&updateProduct{Id: guide, Title: new("Autre titre"), PriceAmount: new(int64(9))})
			b.pay(o.GetId())
			got = b.call(&getOrder{Id: o.GetId()})
			want["status"], want["paidAt"] = "PAID", got["paidAt"]
			b.same(want, got)
			require.True(b, b.moment(got["paidAt"]).After(b.moment(got["createdAt"])))
		},
	},
	scenario{
		name: "an item has the type of its product",
		run: func(b *bench) {
			for _, kind := range []product.Type{product.TypeFILE, product.TypeCOURSE, product.TypeLICENSE, product.TypeMEETING,
				product.TypeEVENT} {
				got := b.call(&getOrder{Id: b.order(b.product("Guide", 100, withType(kind)), 1, "ada@example.com")})
				b.requireFields(got["items"].([]any)[0].(map[string]any), object{"type": kind.String()})
			}
		},
	},
	scenario{
		name: "an order of a payment link names it and may have no items",
		run: func(b *bench) {
			link := b.link("Atelier")
			l := b.call(&getLink{Id: link})
			got := b.call(&getOrder{Id: b.linkOrder(link, "ada@example.com")})
			b.requireFields(got, object{
				"items": []any{}, "paymentLink": object{"id": link, "code": l["code"], "title": "Atelier"}, "note": nil, "amount": 500,
			})
			require.Nil(b, got["customer"].(map[string]any)["phone"])
		},
	},
	scenario{
		name: "an order that is paid is PAID, with paidAt, its events and its counters",
		run: func(b *bench) {
			link := b.link("Atelier")
			byLink, byCatalogue := b.linkOrder(link, "ada@example.com"), b.order(b.product("Guide", 1000), 2, "ada@example.com")
			customer := b.call(&getOrder{Id: byLink})["customer"].(map[string]any)["id"].(string)
			b.requireFields(b.call(&getCustomer{Id: customer}), object{"ordersCount": 2, "totalPaid": 0})
			n := len(b.events())
			b.pay(byCatalogue)
			require.Equal(b, []string{"order.paid"}, b.sentSince(n))
			b.pay(byLink)
			require.Equal(b, []string{"order.paid", "order.paid", "payment_link.paid"}, b.sentSince(n))
			b.leavesNothing(func() { b.pay(byLink) })
			b.requireFields(b.call(&getCustomer{Id: customer}), object{"ordersCount": 2, "totalPaid": 2500})
			paid := b.call(&getOrder{Id: byLink})
			b.requireFields(b.call(&getLink{Id: link}), object{"paidCount": 1, "paidAmount": 500, "lastPaidAt": paid["paidAt"]})
			_, err := b.MoveOrder(b.ctx, byLink, "REFUNDED")
			require.NoError(b, err)
			b.requireFields(b.call(&getOrder{Id: byLink}), object{"status": "REFUNDED", "paidAt": paid["paidAt"]})
			b.requireFields(b.call(&getCustomer{Id: customer}), object{"ordersCount": 2, "totalPaid": 2000})
		},
	},
	scenario{
		name: "an order whose payment failed is FAILED, without paidAt, and an abandoned one sends nothing",
		run: func(b *bench) {
			guide := b.product("Guide", 1000)
			failed, abandoned := b.order(guide, 1, "ada@example.com"), b.order(guide, 1, "ada@example.com")
			n := len(b.events())
			_, err := b.MoveOrder(b.ctx, failed, "FAILED")
			require.NoError(b, err)
			require.Equal(b, []string{"order.failed"}, b.sentSince(n))
			b.requireFields(b.call(&getOrder{Id: failed}), object{"status": "FAILED", "paidAt": nil})
			_, err = b.MoveOrder(b.ctx, abandoned, "CANCELLED")
			require.NoError(b, err)
			require.Equal(b, []string{"order.failed"}, b.sentSince(n))
			b.requireFields(b.call(&getOrder{Id: abandoned}), object{"status": "CANCELLED", "paidAt": nil})
		},
	},
	scenario{
		name: "orders are listed newest first and filtered by status and time",
		run: func(b *bench) {
			guide := b.product("Guide", 1000)
			var ids []string
			for range 5 {
				ids = append(ids, b.order(guide, 1, "ada@example.com"))
			}
			moves := []func(string) error{
				func(string) error { return nil },
				func(id string) error { _, err := b.MoveOrder(b.ctx, id, "PAID"); return err },
				func(id string) error { _, err := b.MoveOrder(b.ctx, id, "FAILED"); return err },
				func(id string) error { _, err := b.MoveOrder(b.ctx, id, "CANCELLED"); return err },
				func(id string) error { b.pay(id); _, err := b.MoveOrder(b.ctx, id, "REFUNDED"); return err },
			}
			statuses := []storefrontv1.Order_Status{
				storefrontv1.Order_PENDING, storefrontv1.Order_PAID, storefrontv1.Order_FAILED, storefrontv1.Order_CANCELLED,
				storefrontv1.Order_REFUNDED,
			}
			for i, move := range moves {
				require.NoError(b, move(ids[i]))
			}
			list := b.call(&listOrders{})
			b.requireFields(list, object{"page": 1, "pageSize": 25, "total": 5})
			require.Equal(b, newest(ids...), b.names(list, "id"))
			b.same(b.call(&getOrder{Id: ids[2]}), b.data(list)[2])
			for i, status := range statuses {
				one := b.call(&listOrders{Status: &status})
				b.requireFields(one, object{"total": 1})
				require.Equal(b, []string{ids[i]}, b.names(one, "id"))
				require.Equal(b, []string{status.String()}, b.names(one, "status"))
			}

			at := func(i int) *timestamppb.Timestamp {
				return timestamppb.New(b.moment(b.call(&getOrder{Id: ids[i]})["createdAt"]))
			}
			require.Equal(b, newest(ids[1], ids[2], ids[3], ids[4]), b.names(b.call(&listOrders{From: at(1)}), "id"), "from is inclusive")
			require.Equal(b, newest(ids[0], ids[1], ids[2]), b.names(b.call(&listOrders{To: at(3)}), "id"), "to is exclusive")
			between := b.call(&listOrders{From: at(1), To: at(3), PageSize: new(int32(1)), Page: new(int64(2))})
			b.requireFields(between, object{"total": 2})
			require.Equal(b, []string{ids[1]}, b.names(between, "id"))
			require.Equal(b, []string{ids[1]}, b.names(b.call(&listOrders{From: at(1), To: at(3), Status: storefrontv1.Order_PAID.Enum()}),
				"id"))
			b.requireFields(b.call(&listOrders{From: at(3), To: at(1)}), object{"total": 0, "data": []any{}})
			if b.isREST() {
				local := at(1).AsTime().In(time.FixedZone("", -(3*60+30)*60)).Format("2006-01-02T15:04:05.000Z07:00")
				a := b.json("GET", "/v1/orders?from="+local+"&status=PAID", "")
				require.Equal(b, []string{ids[1]}, b.names(a.body, "id"), "any offset: %s", local)
				for _, text := range []string{"yesterday", "2026-10-01", "2026-10-01T12:00:30", "2026-13-01T00:00:00Z", ""} {
					b.fieldsOf(b.refusedAs(b.json("GET", "/v1/orders?from="+text+"&to="+text, ""), 400, "validation_failed"), "from", "to")
				}
			}
		},
	},
	scenario{
		name: "an order that is not there is not found",
		run: func(b *bench) {
			require.Nil(b, b.refused(&getOrder{Id: unknownID()}, 404, "order_not_found"))
			require.Nil(b, b.refused(&getOrder{Id: "ORD-1"}, 404, "order_not_found"))
		},
	},
)

func pending() *storefrontv1.Order_Status { return storefrontv1.Order_PENDING.Enum() }
