package conformance_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/client"
	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

const nobody = "00000000-0000-4000-8000-000000000000"

func key(t *testing.T, dev devtest.Server, name, scopes string) (text, id string) {
	t.Helper()
	var made struct{ Key, ID string }
	dev.RunCommand(t, &made, "key", "create", "--store", "demo", "--name", name, "--scopes", scopes, "--expires", "never")
	require.NotEmpty(t, made.Key)
	return made.Key, made.ID
}

const everyScope = "store:read,products:write,orders:read,customers:write,payment_links:write"

// session has a client of the language under test and one of Go, each with its own key because of the rate limit. called has
// the operations that the test has called.
type session struct {
	*driver
	dev    devtest.Server
	golang *client.Client
	called map[string]bool
}

func newSession(t *testing.T, l language, storefront devtest.Command) *session {
	t.Helper()
	d := l.start(t)
	dev := storefront.Start(t)
	golang, err := client.New(dev.URL, dev.Key)
	require.NoError(t, err)
	theirs, _ := key(t, dev, "conformance", everyScope)
	s := &session{d, dev, golang, map[string]bool{}}
	d.open("shop", arguments{"baseUrl": dev.URL + "/", "apiKey": theirs})
	return s
}

// answer requires that an operation's answer equals the Go client's.
func (s *session) answer(resource, method string, args arguments, golang func() (proto.Message, error)) map[string]any {
	s.t.Helper()
	got := s.call("shop", resource, method, args)
	require.Nil(s.t, got.Refused, "%s.%s: %+v", resource, method, got.Refused)
	require.Empty(s.t, got.Invalid)
	want, err := golang()
	require.NoError(s.t, err)
	require.JSONEq(s.t, string(apijson.Marshal(want)), string(got.Answer), "%s.%s", resource, method)
	s.called[resource+"."+method] = true
	var fields map[string]any
	require.NoError(s.t, json.Unmarshal(got.Answer, &fields))
	return fields
}

// list reads a list in pages of three, requires the Go client's items and returns their number.
func list[T proto.Message](s *session, resource string, args arguments, golang func(func(T, error) bool)) int {
	s.t.Helper()
	args["pageSize"] = 3
	got := s.call("shop", resource, "list", args)
	require.Nil(s.t, got.Refused, "%+v", got.Refused)
	var items []json.RawMessage
	require.NoError(s.t, json.Unmarshal(got.Answer, &items))
	i := 0
	for want, err := range golang {
		require.NoError(s.t, err)
		require.Less(s.t, i, len(items), resource)
		require.JSONEq(s.t, string(apijson.Marshal(want)), string(items[i]), resource)
		i++
	}
	require.Len(s.t, items, i)
	s.called[resource+".list"] = true
	return i
}

func TestEveryOperationAnswersAsInGo(t *testing.T) {
	need.Heavy(t, "it drives the clients in other languages")
	storefront := devtest.Build(t)
	each(t, func(t *testing.T, l language) {
		s, ctx := newSession(t, l, storefront), t.Context()
		demo := s.answer("store", "get", nil, func() (proto.Message, error) { return s.golang.Store.Get(ctx) })
		require.Equal(t, "XAF", demo["currency"])

		require.Greater(t, list(s, "products", arguments{}, s.golang.Products.List(ctx, client.ProductFilter{})), 6, "three pages")
		require.Positive(t, list(s, "products", arguments{"status": "PUBLISHED", "type": "COURSE"},
			s.golang.Products.List(ctx, client.ProductFilter{Status: client.ProductPublished, Type: client.ProductCourse})))
		require.Zero(t, list(s, "products", arguments{"q": "caisse & +é/🎉"}, s.golang.Products.List(ctx,
			client.ProductFilter{Q: "caisse & +é/🎉"})))
		page := s.answer("products", "page", arguments{"page": 2, "pageSize": 2}, func() (proto.Message, error) {
			return s.golang.Products.Page(ctx, client.ProductFilter{Page: 2, PageSize: 2})
		})
		s.answer("products", "page", arguments{"page": 99}, func() (proto.Message, error) {
			return s.golang.Products.Page(ctx, client.ProductFilter{Page: 99})
		})
		product := page["data"].([]any)[0].(map[string]any)["id"].(string)
		getProduct := func() (proto.Message, error) { return s.golang.Products.Get(ctx, product) }
		s.answer("products", "get", arguments{"id": product}, getProduct)
		for _, change := range []arguments{
			{"title": "Écrire, \"vite\" 🎉 \\ </b>", "priceAmount": 9007199254740990, "compareAtAmount": 9007199254740991},
			{"compareAtAmount": nil, "summary": "", "description": "<p>a\n\tb</p>"},
			{},
		} {
			change["id"] = product
			changed := s.answer("products", "update", change, getProduct)
			require.Equal(t, "Écrire, \"vite\" 🎉 \\ </b>", changed["title"])
		}

		require.Greater(t, list(s, "orders", arguments{}, s.golang.Orders.List(ctx, client.OrderFilter{})), 25)
		since := time.Now().Add(-10 * 24 * time.Hour).Truncate(time.Second).UTC()
		require.Positive(t, list(s, "orders", arguments{"status": "PAID", "from": since.Format("2006-01-02T15:04:05+00:00")},
			s.golang.Orders.List(ctx, client.OrderFilter{Status: client.OrderPaid, From: since})))
		require.Zero(t, list(s, "orders", arguments{"to": "2001-01-01T00:00:00Z"},
			s.golang.Orders.List(ctx, client.OrderFilter{To: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)})))
		page = s.answer("orders", "page", nil, func() (proto.Message, error) { return s.golang.Orders.Page(ctx, client.OrderFilter{}) })
		order := page["data"].([]any)[0].(map[string]any)["id"].(string)
		s.answer("orders", "get", arguments{"id": order}, func() (proto.Message, error) { return s.golang.Orders.Get(ctx, order) })

		made := s.answer("customers", "create", arguments{"name": "Ada Ndé", "phone": "670 00 00 03"}, func() (proto.Message, error) {
			return s.golang.Customers.Create(ctx, client.NewCustomer{Phone: "+237670000003"})
		})
		customer := made["id"].(string)
		getCustomer := func() (proto.Message, error) { return s.golang.Customers.Get(ctx, customer) }
		s.answer("customers", "create", arguments{"email": "ADA@example.com", "phone": "670000003", "name": nil}, getCustomer)
		changed := s.answer("customers", "update", arguments{"id": customer, "phone": nil, "name": "Ada 🎉"}, getCustomer)
		require.Nil(t, changed["phone"])
		require.Equal(t, "ada@example.com", changed["email"])
		s.answer("customers", "get", arguments{"id": customer}, getCustomer)
		s.answer("customers", "page", arguments{"q": "ada"}, func() (proto.Message, error) {
			return s.golang.Customers.Page(ctx, client.CustomerFilter{Q: "ada"})
		})
		require.Greater(t, list(s, "customers", arguments{}, s.golang.Customers.List(ctx, client.CustomerFilter{})), 6)

		link := ""
		getLink := func() (proto.Message, error) { return s.golang.PaymentLinks.Get(ctx, link) }
		for _, draft := range []arguments{
			{"title": "Don", "pricing": "OPEN", "minAmount": 100, "maxPayments": 10, "expiresAt": "2099-01-01T00:00:00+01:00"},
			{"title": "Acompte", "pricing": "FIXED", "amount": 9007199254740991, "description": nil},
		} {
			got := s.call("shop", "paymentLinks", "create", draft)
			require.Nil(t, got.Refused, "%+v", got.Refused)
			var one struct{ ID string }
			require.NoError(t, json.Unmarshal(got.Answer, &one))
			link = one.ID
			want, err := getLink()
			require.NoError(t, err)
			require.JSONEq(t, string(apijson.Marshal(want)), string(got.Answer))
		}
		s.called["paymentLinks.create"] = true
		s.answer("paymentLinks", "update", arguments{"id": link, "pricing": "OPEN", "minAmount": 5, "thankYouMessage": "Merci 🎉"},
			getLink)
		s.answer("paymentLinks", "update", arguments{"id": link, "thankYouMessage": nil, "expiresAt": "2099-01-01T00:00:00.5Z"},
			getLink)
		s.dev.RunCommand(t, &struct{}{}, "link", "disable", link)
		require.NotNil(t, s.answer("paymentLinks", "get", arguments{"id": link}, getLink)["disabledAt"])
		require.Equal(t, "ACTIVE", s.answer("paymentLinks", "enable", arguments{"id": link}, getLink)["availability"])
		require.Positive(t, list(s, "paymentLinks", arguments{"status": "active"},
			s.golang.PaymentLinks.List(ctx, client.PaymentLinkFilter{Status: client.ActivePaymentLinks})))
		s.answer("paymentLinks", "page", arguments{"status": "inactive"}, func() (proto.Message, error) {
			return s.golang.PaymentLinks.Page(ctx, client.PaymentLinkFilter{Status: client.InactivePaymentLinks})
		})
		requireEveryOperation(t, s.called)
	})
}

// requireEveryOperation requires that the test called every operation of the OpenAPI document, and nothing else. Names are such
// as products.get; for each list there is also products.page.
func requireEveryOperation(t *testing.T, called map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(devtest.Root(t), "gen", "openapi", "storefront.json"))
	require.NoError(t, err)
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Tags        []string
		}
	}
	require.NoError(t, json.Unmarshal(text, &document))
	want := []string{}
	for _, path := range document.Paths {
		for _, o := range path {
			resource := strings.ReplaceAll(strings.Replace(o.Tags[0], " links", "Links", 1), " ", "")
			resource = strings.ToLower(resource[:1]) + resource[1:]
			action := o.OperationID[:strings.IndexAny(o.OperationID, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")]
			want = append(want, resource+"."+action)
			if action == "list" {
				want = append(want, resource+".page")
			}
		}
	}
	var got []string
	for name := range called {
		got = append(got, name)
	}
	slices.Sort(got)
	require.ElementsMatch(t, want, got)
}

// Only codes that a request can cause; retry_test.go sends the others.
func TestEveryErrorIsThatOfTheService(t *testing.T) {
	need.Heavy(t, "it drives the clients in other languages")
	storefront := devtest.Build(t)
	each(t, func(t *testing.T, l language) {
		s, ctx := newSession(t, l, storefront), t.Context()
		var draft, published *client.Product
		for p, err := range s.golang.Products.List(ctx, client.ProductFilter{}) {
			require.NoError(t, err)
			switch p.GetStatus() {
			case client.ProductDraft:
				draft = p
			case client.ProductPublished:
				published = p
			}
		}
		require.NotNil(t, draft)
		require.NotNil(t, published)
		for _, email := range []string{"one@example.com", "two@example.com"} {
			_, err := s.golang.Customers.Create(ctx, client.NewCustomer{Email: email})
			require.NoError(t, err)
		}
		two, err := s.golang.Customers.Create(ctx, client.NewCustomer{Email: "two@example.com"})
		require.NoError(t, err)
		for name, scopes := range map[string]string{"narrow": "store:read", "revoked": "store:read"} {
			text, id := key(t, s.dev, name, scopes)
			s.open(name, arguments{"baseUrl": s.dev.URL, "apiKey": text})
			if name == "revoked" {
				s.dev.RunCommand(t, &struct{}{}, "key", "revoke", id)
			}
		}
		s.open("stranger", arguments{"baseUrl": s.dev.URL, "apiKey": "svc_live_nobody"})
		set := func(args ...string) {
			s.dev.RunCommand(t, &struct{}{}, append([]string{"store", "update", "demo"}, args...)...)
		}

		seen := map[string]bool{}
		refuse := func(clientName, resource, method string, args arguments, code string, status int) *refusal {
			t.Helper()
			got := s.call(clientName, resource, method, args)
			require.NotNil(t, got.Refused, "%s.%s %v: %s%s", resource, method, args, got.Answer, got.Invalid)
			r := got.Refused
			require.Equal(t, code, r.Code, r.Message)
			require.Equal(t, status, r.Status)
			require.Regexp(t, `^[0-9a-f-]{36}$`, r.RequestID)
			require.Contains(t, r.Message, r.RequestID)
			seen[code] = true
			return r
		}
		invalid := refuse("shop", "products", "page", arguments{"pageSize": 101, "page": 0}, "validation_failed", 400)
		require.ElementsMatch(t, []string{"page", "pageSize"}, []string{invalid.Fields[0].Field, invalid.Fields[1].Field})
		require.Contains(t, invalid.Message, "pageSize must be")
		require.Equal(t, l.operation("listProducts"), invalid.Operation)
		refuse("shop", "products", "list", arguments{"status": "SOLD"}, "validation_failed", 400)
		refuse("shop", "products", "update", arguments{"id": published.GetId(), "compareAtAmount": 0}, "compare_at_invalid", 400)
		refuse("shop", "customers", "create", arguments{"phone": "abc"}, "phone_invalid", 400)
		refuse("shop", "customers", "create", arguments{"name": "x"}, "customer_identifier_required", 400)
		refuse("shop", "paymentLinks", "create", arguments{"title": "x", "pricing": "FIXED", "amount": 1, "expiresAt": "soon"},
			"payment_link_expiry_invalid", 400)
		refuse("shop", "paymentLinks", "create", arguments{"title": "x", "pricing": "FIXED", "amount": 1,
			"expiresAt": "2001-01-01T00:00:00Z"},
			"payment_link_expiry_past", 422)
		refuse("shop", "paymentLinks", "create", arguments{"title": "x", "pricing": "FIXED"}, "payment_link_invalid_pricing", 422)
		refuse("stranger", "store", "get", nil, "api_key_invalid", 401)
		refuse("revoked", "store", "get", nil, "api_key_revoked", 401)
		require.Equal(t, "products:read", refuse("narrow", "products", "list", nil, "insufficient_scope", 403).Required)
		for _, id := range []string{nobody, "../products/1?x=y#z", "é/%2e"} {
			refuse("shop", "products", "get", arguments{"id": id}, "product_not_found", 404)
		}
		refuse("shop", "orders", "get", arguments{"id": nobody}, "order_not_found", 404)
		refuse("shop", "customers", "get", arguments{"id": nobody}, "customer_not_found", 404)
		refuse("shop", "paymentLinks", "enable", arguments{"id": nobody}, "payment_link_not_found", 404)
		refuse("shop", "customers", "update", arguments{"id": two.GetId(), "email": "one@example.com"}, "customer_conflict", 409)
		refuse("shop", "products", "update", arguments{"id": published.GetId(), "description": strings.Repeat("é", 1<<20)},
			"payload_too_large", 413)
		incomplete := refuse("shop", "products", "update", arguments{"id": draft.GetId(), "status": "PUBLISHED"}, "product_incomplete",
			422)
		require.Equal(t, []string{"content"}, incomplete.Missing)
		set("--unavailable-types", draft.GetType().String(), "--payment-links", "off")
		refuse("shop", "products", "update", arguments{"id": draft.GetId(), "status": "PUBLISHED"}, "product_type_unavailable", 422)
		refuse("shop", "paymentLinks", "create", arguments{"title": "x", "pricing": "FIXED", "amount": 1}, "feature_disabled", 422)

		// The service allows 120 requests a minute for each key.
		limited, _ := key(t, s.dev, "limited", "store:read")
		s.open("limited", arguments{"baseUrl": s.dev.URL, "apiKey": limited, "maxRetries": 0})
		for range 250 { // enough to exceed the limit even if a new minute begins
			if got := s.call("limited", "store", "get", nil); got.Refused != nil {
				require.Equal(t, "rate_limited", got.Refused.Code)
				require.Equal(t, 429, got.Refused.Status)
				require.Positive(t, got.Refused.RetryAfter)
				seen["rate_limited"] = true
				break
			}
		}
		set("--status", "suspended")
		refuse("shop", "store", "get", nil, "store_unavailable", 403)
		require.Len(t, seen, 21)

		for _, id := range []string{"", ".", ".."} {
			require.NotEmpty(t, s.call("shop", "paymentLinks", "enable", arguments{"id": id}).Invalid)
		}
	})
}

func TestASuccessShowsItsResponse(t *testing.T) {
	storefront := devtest.Build(t)
	each(t, func(t *testing.T, l language) {
		s := newSession(t, l, storefront)
		show := func(resource, method string, args arguments) (got struct {
			Status            int
			RequestID, Header string
			RateLimit         struct{ Limit, Remaining, ResetSeconds int }
		}) {
			t.Helper()
			answer := s.ask(map[string]any{"do": "call", "client": "shop", "resource": resource, "method": method, "arguments": args,
				"response": true})
			require.Nil(t, answer.Refused, "%+v", answer.Refused)
			require.NoError(t, json.Unmarshal(answer.Answer, &got))
			require.Regexp(t, `^[0-9a-f-]{36}$`, got.RequestID)
			require.Equal(t, "application/json", got.Header)
			require.Equal(t, 120, got.RateLimit.Limit)
			require.Positive(t, got.RateLimit.ResetSeconds)
			require.Less(t, got.RateLimit.Remaining, 120)
			return got
		}
		made := show("customers", "create", arguments{"email": "new@example.com"})
		require.Equal(t, 201, made.Status, "a new customer")
		known := show("customers", "create", arguments{"email": "new@example.com"})
		require.Equal(t, 200, known.Status, "a known customer")
		require.NotEqual(t, made.RequestID, known.RequestID)
		require.Equal(t, 200, show("products", "page", arguments{"pageSize": 2}).Status)
	})
}
