package conformance_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/gen/ent/product"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
)

func plainly(line string) func(*bench) request {
	return func(*bench) request { return request{line: line} }
}

func withJSON(line, body string) request {
	return request{line: line, headers: []string{"Content-Type: application/json"}, body: body}
}

func (b *bench) stocked() (productID, orderID string) {
	b.Helper()
	productID = b.product("Le guide du café", 1500, withStatus(product.StatusPUBLISHED), withType(product.TypeCOURSE),
		func(d *adminv1.CreateProductRequest) {
			d.Summary, d.CompareAtAmount = new("Tout sur le café"), new(int64(2000))
			d.Description, d.CoverUrl = new("<p>Du grain à la tasse &amp; plus.</p>"), new("https://cdn.example/guide.png")
		})
	o, err := b.RecordOrder(b.ctx, shop.OrderDraft{
		Buyer: shop.Buyer{Name: "Ada Ndé", Email: new("ada@example.com"), Phone: new("+237670000003")}, Note: new("Merci !"),
		Lines: []shop.OrderLine{{ProductID: productID, Quantity: 2}},
	})
	require.NoError(b, err)
	b.pay(o.GetId())
	return productID, o.GetId()
}

func (b *bench) donation() string {
	b.Helper()
	return b.link("Don", func(in *storefrontv1.CreatePaymentLinkRequest) {
		in.Pricing, in.Amount, in.MinAmount = open, nil, new(int64(100))
		in.Description, in.CoverUrl, in.ThankYouMessage = new("Soutenez l'atelier"), new("https://cdn.example/don.png"), new("Merci !")
		in.ExpiresAt, in.MaxPayments = inFuture(), new(int32(10))
	})
}

func exchanges() []exchange {
	return append(operationExchanges(), refusalExchanges()...)
}

func operationExchanges() []exchange {
	return []exchange{
		{name: "store-retrieve", prepare: plainly("GET /v1/store")},
		{name: "products-list", prepare: func(b *bench) request {
			b.stocked()
			b.product("Brouillon", 0, unready)
			return request{line: "GET /v1/products?page=1&pageSize=2"}
		}},
		{name: "products-list-empty", prepare: plainly("GET /v1/products?q=rien&status=DRAFT&type=EVENT")},
		{name: "product-retrieve", prepare: func(b *bench) request {
			id, _ := b.stocked()
			return request{line: "GET /v1/products/" + id}
		}},
		{name: "product-retrieve-head", prepare: func(b *bench) request {
			id, _ := b.stocked()
			return request{line: "HEAD /v1/products/" + id}
		}},
		{name: "product-update", prepare: func(b *bench) request {
			return withJSON("PATCH /v1/products/"+b.product("Guide", 1500),
				`{"title":"Le guide","priceAmount":2000,"compareAtAmount":2500,"status":"PUBLISHED"}`)
		}},
		{name: "orders-list", prepare: func(b *bench) request {
			b.stocked()
			b.linkOrder(b.link("Atelier"), "bea@example.com")
			return request{line: "GET /v1/orders?from=2026-10-01T14:00:30%2B02:00&to=2026-10-02T00:00:00Z"}
		}},
		{name: "order-retrieve", prepare: func(b *bench) request {
			_, id := b.stocked()
			return request{line: "GET /v1/orders/" + id}
		}},
		{name: "customers-list", prepare: func(b *bench) request {
			b.stocked()
			b.customer("", "bea@example.com")
			return request{line: "GET /v1/customers?q=%40EXAMPLE"}
		}},
		{name: "customer-retrieve", prepare: func(b *bench) request {
			return request{line: "GET /v1/customers/" + b.customer("Ada Ndé", "ada@example.com")}
		}},
		{name: "customer-create", prepare: func(*bench) request {
			return withJSON("POST /v1/customers", `{"name":"Ada Ndé","email":"Ada@Example.com","phone":"670 00 00 03"}`)
		}},
		{name: "customer-create-known", prepare: func(b *bench) request {
			b.customer("", "ada@example.com")
			return withJSON("POST /v1/customers", `{"name":"Ada Ndé","email":"ADA@example.com"}`)
		}},
		{name: "customer-update", prepare: func(b *bench) request {
			return withJSON("PATCH /v1/customers/"+b.customer("Ada", "ada@example.com"), `{"email":null,"phone":"+237670000003"}`)
		}},
		{name: "payment-links-list", prepare: func(b *bench) request {
			b.donation()
			b.disable(b.link("Atelier"))
			return request{line: "GET /v1/payment-links"}
		}},
		{name: "payment-link-retrieve", prepare: func(b *bench) request {
			id := b.link("Atelier", capped(1))
			b.pay(b.linkOrder(id, "ada@example.com"))
			return request{line: "GET /v1/payment-links/" + id}
		}},
		{name: "payment-link-create", prepare: func(*bench) request {
			return withJSON("POST /v1/payment-links",
				`{"title":"Don","pricing":"OPEN","minAmount":100,"maxPayments":10,"expiresAt":"2027-01-01T00:00:00+01:00"}`)
		}},
		{name: "payment-link-create-fixed", prepare: func(*bench) request {
			return withJSON("POST /v1/payment-links", `{"title":"Atelier","pricing":"FIXED","amount":25000,"maxPayments":12}`)
		}},
		{name: "payment-link-update", prepare: func(b *bench) request {
			return withJSON("PATCH /v1/payment-links/"+b.donation(), `{"pricing":"FIXED","amount":500,"expiresAt":null,"description":""}`)
		}},
		{name: "payment-link-enable", prepare: func(b *bench) request {
			id := b.link("Atelier")
			b.disable(id)
			return request{line: "POST /v1/payment-links/" + id + "/enable"}
		}},
	}
}

// fresh starts a service for an exchange that breaks it.
func fresh(t *testing.T, database string) *installation { return newService(t, database, settings{}) }

func refusalExchanges() []exchange {
	return []exchange{
		{name: "validation_failed-query", prepare: plainly("GET /v1/products?page=0&pageSize=101&status=draft&sort=title&q=a&q=b")},
		{name: "validation_failed-body", prepare: func(b *bench) request {
			return withJSON("PATCH /v1/products/"+b.product("Guide", 1500),
				`{"title":"","priceAmount":-1,"summary":null,"type":"FILE","colour":"red"}`)
		}},
		{name: "validation_failed-not-json", prepare: func(b *bench) request {
			return withJSON("PATCH /v1/products/"+b.product("Guide", 1500), `{"title":`)
		}},
		{name: "validation_failed-store", prepare: plainly("GET /v1/store?fields=name")},
		{name: "validation_failed-product", prepare: plainly("GET /v1/products/0195e000-0000-7000-8000-000000000000?currency=EUR")},
		{name: "validation_failed-orders", prepare: plainly("GET /v1/orders?status=OPEN&from=2026-10-01&pageSize=0")},
		{name: "validation_failed-order", prepare: plainly("GET /v1/orders/0195e000-0000-7000-8000-000000000000?expand=customer")},
		{name: "validation_failed-customers", prepare: plainly("GET /v1/customers?email=ada%40example.com&page=0")},
		{name: "validation_failed-customer", prepare: plainly("GET /v1/customers/0195e000-0000-7000-8000-000000000000?expand=orders")},
		{name: "validation_failed-customer-create", prepare: func(*bench) request {
			return withJSON("POST /v1/customers", `{"name":7,"email":"ada","country":"CM"}`)
		}},
		{name: "validation_failed-customer-update", prepare: func(b *bench) request {
			return withJSON("PATCH /v1/customers/"+b.customer("Ada", "ada@example.com"), `{"name":null,"ordersCount":2}`)
		}},
		{name: "validation_failed-payment-links", prepare: plainly("GET /v1/payment-links?status=ACTIVE&pageSize=500")},
		{name: "validation_failed-payment-link",
			prepare: plainly("GET /v1/payment-links/0195e000-0000-7000-8000-000000000000?expand=orders")},
		{name: "validation_failed-payment-link-create", prepare: func(*bench) request {
			return withJSON("POST /v1/payment-links", `{"title":"","pricing":"FREE","coverUrl":"don.png","maxPayments":0}`)
		}},
		{name: "validation_failed-payment-link-update", prepare: func(b *bench) request {
			return withJSON("PATCH /v1/payment-links/"+b.link("Don"), `{"amount":"25000","code":"don"}`)
		}},
		{name: "validation_failed-payment-link-enable",
			prepare: plainly("POST /v1/payment-links/0195e000-0000-7000-8000-000000000000/enable?force=true")},
		{name: "compare_at_invalid", prepare: func(b *bench) request {
			return withJSON("PATCH /v1/products/"+b.product("Guide", 1500), `{"compareAtAmount":1500}`)
		}},
		{name: "phone_invalid", prepare: func(*bench) request { return withJSON("POST /v1/customers", `{"phone":"12"}`) }},
		{name: "customer_identifier_required", prepare: func(*bench) request {
			return withJSON("POST /v1/customers",
				`{"name":"Ada"}`)
		}},
		{name: "payment_link_expiry_invalid", prepare: func(*bench) request {
			return withJSON("POST /v1/payment-links", `{"title":"Don","pricing":"OPEN","minAmount":1,"expiresAt":"tomorrow"}`)
		}},
		{name: "api_key_missing", prepare: func(b *bench) request {
			b.key = ""
			return request{line: "GET /v1/store"}
		}},
		{name: "api_key_invalid", prepare: func(b *bench) request {
			b.key = "svc_live_unknown"
			return request{line: "GET /v1/store"}
		}},
		{name: "api_key_revoked", prepare: func(b *bench) request {
			_, err := b.RevokeKey(b.ctx, b.keyID)
			require.NoError(b, err)
			return request{line: "GET /v1/store"}
		}},
		{name: "api_key_expired", prepare: func(b *bench) request {
			_, err := b.installation.db.Writer().Exec("UPDATE api_keys SET expires_at = $1 WHERE id = $2", opening.Add(-time.Hour),
				b.keyID)
			require.NoError(b, err)
			return request{line: "GET /v1/store"}
		}},
		{name: "insufficient_scope", prepare: func(b *bench) request {
			b.key, _ = b.newKey("narrow", "never", "store:read")
			return withJSON("POST /v1/customers", `{"email":"ada@example.com"}`)
		}},
		{name: "store_unavailable", prepare: func(b *bench) request {
			b.change(&adminv1.UpdateStoreRequest{Status: storefrontv1.Store_suspended.Enum()})
			return request{line: "GET /v1/store"}
		}},
		{name: "product_not_found", prepare: plainly("GET /v1/products/guide")},
		{name: "order_not_found", prepare: plainly("GET /v1/orders/0195e000-0000-7000-8000-000000000000")},
		{name: "customer_not_found", prepare: func(*bench) request {
			return withJSON("PATCH /v1/customers/0195e000-0000-7000-8000-000000000000", `{}`)
		}},
		{name: "payment_link_not_found", prepare: plainly("POST /v1/payment-links/0195e000-0000-7000-8000-000000000000/enable")},
		{name: "not_found", prepare: plainly("GET /v1/products/")},
		{name: "method_not_allowed", prepare: plainly("DELETE /v1/products/0195e000-0000-7000-8000-000000000000")},
		{name: "method_not_allowed-options", prepare: func(*bench) request {
			return request{line: "OPTIONS /v1/customers", headers: []string{"Origin: https://shop.example",
				"Access-Control-Request-Method: POST"}}
		}},
		{name: "customer_conflict", prepare: func(b *bench) request {
			b.customer("Ada", "ada@example.com")
			return withJSON("PATCH /v1/customers/"+b.customer("Béa", "bea@example.com"), `{"email":"Ada@example.com"}`)
		}},
		{name: "payload_too_large", prepare: func(*bench) request {
			return request{line: "POST /v1/customers", headers: []string{"Content-Type: application/json", "Content-Length: 1048577"}}
		}},
		{name: "unsupported_media_type", prepare: func(*bench) request {
			return request{line: "POST /v1/customers", headers: []string{"Content-Type: application/x-www-form-urlencoded"},
				body: "email=ada%40example.com"}
		}},
		{name: "product_incomplete", prepare: func(b *bench) request {
			return withJSON("PATCH /v1/products/"+b.product("Vide", 0, unready), `{"status":"PUBLISHED"}`)
		}},
		{name: "product_type_unavailable", prepare: func(b *bench) request {
			b.change(&adminv1.UpdateStoreRequest{UnavailableTypes: []storefrontv1.Product_Type{storefrontv1.Product_FILE}})
			return withJSON("PATCH /v1/products/"+b.product("Guide", 0), `{"status":"PUBLISHED"}`)
		}},
		{name: "feature_disabled", prepare: func(b *bench) request {
			b.change(&adminv1.UpdateStoreRequest{PaymentLinksOpen: new(false)})
			return withJSON("POST /v1/payment-links", `{"title":"Don","pricing":"OPEN","minAmount":1}`)
		}},
		{name: "payment_link_invalid_pricing", prepare: func(*bench) request {
			return withJSON("POST /v1/payment-links", `{"title":"Don","pricing":"OPEN","amount":500}`)
		}},
		{name: "payment_link_expiry_past", prepare: func(*bench) request {
			return withJSON("POST /v1/payment-links",
				`{"title":"Don","pricing":"OPEN","minAmount":1,"expiresAt":"2026-10-01T12:00:30.000Z"}`)
		}},
		{name: "rate_limited", prepare: func(b *bench) request {
			for range 120 {
				a, _ := b.send(http.MethodHead, "/v1/store", nil)
				require.Equal(b, http.StatusOK, a.status)
			}
			return request{line: "GET /v1/store"}
		}},
		{name: "internal_error", service: fresh, prepare: func(b *bench) request {
			_, err := b.installation.db.Writer().Exec("ALTER TABLE order_items RENAME COLUMN title TO other")
			require.NoError(b, err)
			return request{line: "GET /v1/orders/0195e000-0000-7000-8000-000000000000"}
		}},
		{name: "unavailable", database: dbtest.Postgres, service: throughCable, prepare: func(b *bench) request {
			b.cable.cut()
			return request{line: "GET /v1/store"}
		}},
	}
}

// throughCable starts a service whose connection to the database a test can cut.
func throughCable(t *testing.T, database string) *installation {
	address, cable := newCable(t)
	s := newService(t, database, settings{url: address, token: operatorToken})
	s.cable = cable
	return s
}
