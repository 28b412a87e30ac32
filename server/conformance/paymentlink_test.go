package conformance_test

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
)

type (
	listLinks  = storefrontv1.ListPaymentLinksRequest
	getLink    = storefrontv1.GetPaymentLinkRequest
	createLink = storefrontv1.CreatePaymentLinkRequest
	updateLink = storefrontv1.UpdatePaymentLinkRequest
	enableLink = storefrontv1.EnablePaymentLinkRequest
)

const (
	fixed = storefrontv1.PaymentLink_FIXED
	open  = storefrontv1.PaymentLink_OPEN
)

func inFuture() *timestamppb.Timestamp { return timestamppb.New(opening.AddDate(1, 0, 0)) }

// expire uses SQL, because the shop refuses an end date in the past.
func (b *bench) expire(id string) {
	b.Helper()
	_, err := b.installation.db.Writer().Exec("UPDATE payment_links SET expires_at = $1 WHERE id = $2", opening.Add(-time.Hour), id)
	require.NoError(b, err)
}

func (b *bench) disable(id string) {
	b.Helper()
	_, err := b.DisablePaymentLink(b.ctx, id)
	require.NoError(b, err)
}

var _ = cases(
	scenario{
		name: "a payment link is created with every field, null where it has no value",
		run: func(b *bench) {
			n := len(b.entries())
			a := b.answer(&createLink{Title: " Atelier ", Pricing: fixed, Amount: new(int64(500)), Description: new(""),
				CoverUrl: new(" "), ThankYouMessage: new("\n")})
			require.Less(b, a.status, 300, "%v", a.body)
			if b.isREST() {
				require.Equal(b, 201, a.status)
			}
			got := a.body
			id := got["id"].(string)
			require.Regexp(b, uuidForm, id)
			require.Regexp(b, `^[0-9a-z]{10}$`, got["code"])
			bare := object{
				"id": id, "code": got["code"], "url": "https://" + b.store.Slug + ".example/pay/" + got["code"].(string), "title": "Atelier",
				"description": nil, "coverUrl": nil, "pricing": "FIXED", "amount": 500, "minAmount": nil, "currency": "XAF",
				"thankYouMessage": nil, "expiresAt": nil, "maxPayments": nil, "disabledAt": nil, "availability": "ACTIVE",
				"paidCount": 0, "paidAmount": 0, "lastPaidAt": nil, "createdAt": got["createdAt"], "updatedAt": got["createdAt"],
			}
			b.same(bare, got)
			b.same(bare, b.call(&getLink{Id: id}))
			b.journaled(n, "payment_link.created", id, object{
				"code": change(nil, got["code"]), "title": change(nil, "Atelier"), "pricing": change(nil, "FIXED"),
				"amount": change(nil, 500),
			})

			full := b.call(&createLink{
				Title: "Don", Pricing: open, MinAmount: new(int64(100)), Description: new("Soutenez-nous"),
				CoverUrl:        new("https://cdn.example/don.png"),
				ThankYouMessage: new("Merci !"), ExpiresAt: inFuture(), MaxPayments: new(int32(2)),
			})
			want := object{
				"id": full["id"], "code": full["code"], "url": full["url"], "title": "Don", "description": "Soutenez-nous",
				"coverUrl": "https://cdn.example/don.png", "pricing": "OPEN", "amount": nil, "minAmount": 100, "currency": "XAF",
				"thankYouMessage": "Merci !", "expiresAt": "2027-10-01T12:00:30.000Z", "maxPayments": 2, "disabledAt": nil,
				"availability": "ACTIVE",
				"paidCount":    0, "paidAmount": 0, "lastPaidAt": nil, "createdAt": full["createdAt"], "updatedAt": full["createdAt"],
			}
			b.same(want, full)
			o, err := b.RecordOrder(b.ctx, shop.OrderDraft{Buyer: shop.Buyer{Email: new("a@example.com")},
				PaymentLinkID: full["id"].(string), Amount: new(int64(150))})
			require.NoError(b, err)
			b.pay(o.GetId())
			want["paidCount"], want["paidAmount"], want["lastPaidAt"] = 1, 150, b.call(&getOrder{Id: o.GetId()})["paidAt"]
			b.same(want, b.call(&getLink{Id: full["id"].(string)}))
		},
	},
	scenario{
		name: "pricing FIXED uses amount and OPEN uses minAmount, after the change",
		run: func(b *bench) {
			id := b.link("Atelier")
			b.leavesNothing(func() {
				for _, m := range []*createLink{
					{Title: "x", Pricing: fixed}, {Title: "x", Pricing: open}, {Title: "x", Pricing: fixed, MinAmount: new(int64(5))},
					{Title: "x", Pricing: open, Amount: new(int64(5))}, {Title: "x", Pricing: fixed, Amount: new(int64(5)),
						MinAmount: new(int64(5))},
					{Title: "x", Pricing: open, Amount: new(int64(5)), MinAmount: new(int64(5))},
				} {
					require.Nil(b, b.refused(m, 422, "payment_link_invalid_pricing"))
				}
				for _, m := range []*updateLink{
					{Id: id, Pricing: open.Enum()}, {Id: id, MinAmount: new(int64(5))}, {Id: id, UpdateMask: mask("amount")},
					{Id: id, Pricing: open.Enum(), Amount: new(int64(5)), MinAmount: new(int64(5))},
				} {
					require.Nil(b, b.refused(m, 422, "payment_link_invalid_pricing"))
				}
			})
			n := len(b.entries())
			b.requireFields(b.call(&updateLink{Id: id, Pricing: open.Enum(), MinAmount: new(int64(100))}),
				object{"pricing": "OPEN", "amount": nil,
					"minAmount": 100})
			b.journaled(n, "payment_link.updated", id, object{
				"pricing": change("FIXED", "OPEN"), "amount": change(500, nil), "minAmount": change(nil, 100),
			})
			b.requireFields(b.call(&updateLink{Id: id, Pricing: fixed.Enum(), Amount: new(int64(700))}),
				object{"pricing": "FIXED", "amount": 700,
					"minAmount": nil})
			b.requireFields(b.call(&updateLink{Id: id, Amount: new(int64(800))}), object{"amount": 800})
		},
	},
	scenario{
		name: "an end date lies in the future when it is set",
		run: func(b *bench) {
			id := b.link("Atelier")
			b.leavesNothing(func() {
				for _, at := range []time.Time{opening.Add(-time.Hour), opening, time.Unix(0, 0)} {
					require.Nil(b, b.refused(&createLink{Title: "x", Pricing: fixed, Amount: new(int64(5)), ExpiresAt: timestamppb.New(at)}, 422,
						"payment_link_expiry_past"))
					require.Nil(b, b.refused(&updateLink{Id: id, ExpiresAt: timestamppb.New(at)}, 422, "payment_link_expiry_past"))
				}
				if b.isREST() {
					for _, text := range []string{`"tomorrow"`, `"2027-10-01"`, `"2027-02-30T00:00:00Z"`, `""`, `5`, `true`, `{}`, `[]`} {
						a := b.json("POST", "/v1/payment-links", `{"title":"x","pricing":"FIXED","amount":5,"expiresAt":`+text+`}`)
						require.Nil(b, b.refusedAs(a, 400, "payment_link_expiry_invalid"), text)
						a = b.json("PATCH", "/v1/payment-links/"+id, `{"expiresAt":`+text+`}`)
						require.Nil(b, b.refusedAs(a, 400, "payment_link_expiry_invalid"), text)
					}
					a := b.json("PATCH", "/v1/payment-links/"+id, `{"expiresAt":5,"title":""}`)
					b.fieldsOf(b.refusedAs(a, 400, "validation_failed"), "expiresAt", "title")
				} else {
					bad := &timestamppb.Timestamp{Seconds: 1 << 50}
					if b.protocol != (connectJSON{}) {
						require.Nil(b, b.refused(&updateLink{Id: id, ExpiresAt: bad}, 400, "payment_link_expiry_invalid"))
					}
				}
			})
			b.requireFields(b.call(&updateLink{Id: id, ExpiresAt: inFuture()}), object{"expiresAt": "2027-10-01T12:00:30.000Z"})
			n := len(b.entries())
			b.requireFields(b.call(&updateLink{Id: id, UpdateMask: mask("expires_at")}), object{"expiresAt": nil})
			b.journaled(n, "payment_link.updated", id, object{"expiresAt": change("2027-10-01T12:00:30.000Z", nil)})
			b.expire(id)
			b.requireFields(b.call(&updateLink{Id: id, Title: new("Autre")}), object{"title": "Autre", "availability": "EXPIRED"})
		},
	},
	scenario{
		name: "an update changes the named fields of a payment link, never its code and currency",
		run: func(b *bench) {
			id := b.link("Atelier", capped(5))
			before := b.call(&getLink{Id: id})
			got := b.call(&updateLink{
				Id: id, Title: new("Autre"), Description: new("d"), CoverUrl: new("http://cdn.example/x"), ThankYouMessage: new("t"),
				MaxPayments: new(int32(9)),
			})
			want := object{"title": "Autre", "description": "d", "coverUrl": "http://cdn.example/x", "thankYouMessage": "t",
				"maxPayments": 9, "updatedAt": got["updatedAt"]}
			for name := range before {
				if _, changed := want[name]; !changed {
					want[name] = before[name]
				}
			}
			b.same(want, got)
			require.True(b, b.moment(got["updatedAt"]).After(b.moment(before["updatedAt"])))
			n := len(b.entries())
			cleared := b.call(&updateLink{Id: id, Description: new(""), UpdateMask: mask("description", "cover_url", "thank_you_message",
				"max_payments")})
			b.requireFields(cleared, object{"description": nil, "coverUrl": nil, "thankYouMessage": nil, "maxPayments": nil})
			b.journaled(n, "payment_link.updated", id, object{
				"description": change("d", nil), "coverUrl": change("http://cdn.example/x", nil), "thankYouMessage": change("t", nil),
				"maxPayments": change(9, nil),
			})
			b.leavesNothing(func() {
				b.same(cleared, b.call(&updateLink{Id: id, Title: new("Autre"), UpdateMask: mask("title", "max_payments")}))
				b.same(cleared, b.call(&updateLink{Id: id, UpdateMask: mask()}))
				b.refusedFields(&updateLink{Id: id, UpdateMask: mask("title", "pricing")}, "title", "pricing")
				if b.isREST() {
					a := b.json("PATCH", "/v1/payment-links/"+id, `{"code":"x","currency":"EUR","title":"y"}`)
					b.fieldsOf(b.refusedAs(a, 400, "validation_failed"), "code", "currency")
				}
			})
		},
	},
	scenario{
		name: "the fields of a payment link have bounds",
		run: func(b *bench) {
			id := b.link("Atelier")
			long := func(n int) *string { s := strings.Repeat("é", n); return &s }
			url := "https://x.example/" + strings.Repeat("a", 2048-18)
			b.requireFields(b.call(&createLink{
				Title: *long(200), Pricing: fixed, Amount: new(int64(1<<53 - 1)), Description: long(5000), ThankYouMessage: long(2000),
				CoverUrl: &url, MaxPayments: new(int32(1<<31 - 1)),
			}), object{"amount": int64(1<<53 - 1), "maxPayments": 1<<31 - 1, "coverUrl": url})
			b.leavesNothing(func() {
				b.refusedFields(&createLink{}, "title", "pricing")
				b.refusedFields(&createLink{
					Title: *long(201), Pricing: fixed, Amount: new(int64(0)), MinAmount: new(int64(-1)), Description: long(5001),
					ThankYouMessage: long(2001),
					CoverUrl:        new("ftp://x.example/"), MaxPayments: new(int32(0)),
				}, "title", "amount", "minAmount", "description", "thankYouMessage", "coverUrl", "maxPayments")
				b.refusedFields(&updateLink{
					Id: id, Title: new(" "), Amount: new(int64(1 << 53)), Description: long(5001), ThankYouMessage: long(2001),
					CoverUrl: new(url + "a"), MaxPayments: new(int32(-1)),
				}, "title", "amount", "description", "thankYouMessage", "coverUrl", "maxPayments")
				for _, cover := range []string{"x", "//x.example/a", "https://", "javascript:alert(1)", "https://x.example/a b", "data:,x"} {
					b.refusedFields(&updateLink{Id: id, CoverUrl: &cover}, "coverUrl")
				}
			})
		},
	},
	scenario{
		name: "availability shows why a link takes no payments, and the filter follows it",
		run: func(b *bench) {
			active, disabled, expired := b.link("Active"), b.link("Disabled"), b.link("Expired")
			exhausted, all := b.link("Exhausted", capped(1)), b.link("All", capped(1))
			early := b.linkOrder(exhausted, "b@example.com")
			for _, id := range []string{exhausted, all} {
				b.pay(b.linkOrder(id, "a@example.com"))
			}
			b.disable(disabled)
			b.disable(all)
			b.expire(expired)
			b.expire(all)
			for id, availability := range map[string]string{
				active: "ACTIVE", disabled: "DISABLED", expired: "EXPIRED", exhausted: "EXHAUSTED", all: "DISABLED",
			} {
				b.requireFields(b.call(&getLink{Id: id}), object{"availability": availability})
			}
			list := b.call(&listLinks{})
			b.requireFields(list, object{"page": 1, "pageSize": 25, "total": 5})
			require.Equal(b, newest(active, disabled, expired, exhausted, all), b.names(list, "id"))
			b.same(b.call(&getLink{Id: exhausted}), b.data(list)[1])
			takes := b.call(&listLinks{Status: storefrontv1.ListPaymentLinksRequest_active.Enum()})
			b.requireFields(takes, object{"total": 1})
			require.Equal(b, []string{active}, b.names(takes, "id"))
			not := b.call(&listLinks{Status: storefrontv1.ListPaymentLinksRequest_inactive.Enum(), PageSize: new(int32(3))})
			b.requireFields(not, object{"total": 4})
			require.Equal(b, []string{all, exhausted, expired}, b.names(not, "id"))
			for _, id := range []string{disabled, expired, exhausted, all} {
				_, err := b.RecordOrder(b.ctx, shop.OrderDraft{Buyer: shop.Buyer{Email: new("c@example.com")}, PaymentLinkID: id})
				require.ErrorContains(b, err, "payment_link_unavailable")
			}
			b.pay(early)
			b.requireFields(b.call(&getLink{Id: exhausted}), object{"paidCount": 2, "paidAmount": 1000, "availability": "EXHAUSTED"})
			_, err := b.MoveOrder(b.ctx, early, "REFUNDED")
			require.NoError(b, err)
			b.requireFields(b.call(&getLink{Id: exhausted}), object{"paidCount": 2, "paidAmount": 1000})
		},
	},
	scenario{
		name: "a disabled link is enabled, once, and may remain expired or exhausted",
		run: func(b *bench) {
			id := b.link("Atelier", capped(1))
			b.pay(b.linkOrder(id, "a@example.com"))
			b.disable(id)
			disabled := b.call(&getLink{Id: id})
			b.moment(disabled["disabledAt"])
			n, sent := len(b.entries()), len(b.events())
			got := b.call(&enableLink{Id: id})
			b.requireFields(got, object{"disabledAt": nil, "availability": "EXHAUSTED", "maxPayments": 1, "expiresAt": nil})
			b.journaled(n, "payment_link.enabled", id, object{"disabledAt": change(disabled["disabledAt"], nil)})
			require.Empty(b, b.sentSince(sent))
			b.leavesNothing(func() { b.same(got, b.call(&enableLink{Id: id})) })
			b.disable(id)
			b.expire(id)
			b.requireFields(b.call(&enableLink{Id: id}), object{"disabledAt": nil, "availability": "EXPIRED"})
			require.Nil(b, b.refused(&enableLink{Id: unknownID()}, 404, "payment_link_not_found"))
			if b.isREST() {
				for _, body := range []string{"", "{}", "not json", `{"x":1}`} {
					a := b.json("POST", "/v1/payment-links/"+id+"/enable", body)
					require.Equal(b, 200, a.status, "the body is ignored: %q", body)
				}
			}
		},
	},
	scenario{
		name: "payment links cannot be created while they are closed to the store",
		run: func(b *bench) {
			id := b.link("Atelier")
			b.change(&adminv1.UpdateStoreRequest{PaymentLinksOpen: new(false)})
			b.leavesNothing(func() {
				require.Nil(b, b.refused(&createLink{Title: "x", Pricing: fixed, Amount: new(int64(5))}, 422, "feature_disabled"))
				require.Nil(b, b.refused(&createLink{}, 422, "feature_disabled"), "before the body's fields")
				if b.isREST() {
					require.Nil(b, b.refusedAs(b.json("POST", "/v1/payment-links", `{"x":1}`), 422, "feature_disabled"))
				}
			})
			b.requireFields(b.call(&updateLink{Id: id, Title: new("Autre")}), object{"title": "Autre"})
		},
	},
	scenario{
		name: "a payment link that is not there is not found",
		run: func(b *bench) {
			for _, id := range []string{unknownID(), "x"} {
				require.Nil(b, b.refused(&getLink{Id: id}, 404, "payment_link_not_found"))
				require.Nil(b, b.refused(&updateLink{Id: id, Title: new("x")}, 404, "payment_link_not_found"))
				require.Nil(b, b.refused(&enableLink{Id: id}, 404, "payment_link_not_found"))
			}
		},
	},
)
