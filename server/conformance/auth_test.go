package conformance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/shop"
)

// challenged asserts a refusal with 401, this code, and the header that every 401 has.
func (b *bench) challenged(code string) {
	b.Helper()
	a := b.answer(&getStore{})
	require.Nil(b, b.refusedAs(a, 401, code))
	require.Equal(b, []string{`Bearer realm="Service API"`}, a.header.Values("WWW-Authenticate"))
}

// operations has an invalid request for each method, with its scope, which must be checked before the request.
var operations = []struct {
	scope string
	m     proto.Message
}{
	{auth.ScopeStoreRead, &getStore{}},
	{auth.ScopeProductsRead, &listProducts{}},
	{auth.ScopeProductsRead, &getProduct{Id: "x"}},
	{auth.ScopeProductsWrite, &updateProduct{Id: "x", Title: new("")}},
	{auth.ScopeOrdersRead, &listOrders{}},
	{auth.ScopeOrdersRead, &getOrder{Id: "x"}},
	{auth.ScopeCustomersRead, &listCustomers{Page: new(int64(0))}},
	{auth.ScopeCustomersRead, &getCustomer{Id: "x"}},
	{auth.ScopeCustomersWrite, &createCustomer{}},
	{auth.ScopeCustomersWrite, &updateCustomer{Id: "x"}},
	{auth.ScopePaymentLinksRead, &listLinks{}},
	{auth.ScopePaymentLinksRead, &getLink{Id: "x"}},
	{auth.ScopePaymentLinksWrite, &createLink{}},
	{auth.ScopePaymentLinksWrite, &updateLink{Id: "x"}},
	{auth.ScopePaymentLinksWrite, &enableLink{Id: "x"}},
}

var _ = cases(
	scenario{
		name: "a request needs an Authorization header of the form Bearer and a key",
		run: func(b *bench) {
			for _, header := range []string{"", "raw:Basic YTpi", "raw:Bearer", "raw:Bearer ", "raw:" + b.key, "raw:Token " + b.key} {
				b.withKey(header).challenged("api_key_missing")
			}
			b.withKey("raw:bearer " + b.key).call(&getStore{})
			b.withKey("raw:BEARER " + b.key).call(&getStore{})
			if b.isREST() {
				a := b.withKey("").json("GET", "/v1/nothing", "")
				b.refusedAs(a, 401, "api_key_missing")
			}
		},
	},
	scenario{
		name: "a key that does not exist is invalid",
		run: func(b *bench) {
			require.Regexp(b, `^svc_live_[0-9A-Za-z]{42}$`, b.key)
			last := b.key[len(b.key)-1:]
			other := "0"
			if last == other {
				other = "1"
			}
			for _, key := range []string{auth.NewKey(uuid.New()), b.key[:len(b.key)-1] + other, b.key + "x", "svc_live_", "x",
				strings.ToUpper(b.key)} {
				b.withKey(key).challenged("api_key_invalid")
			}
			b.call(&getStore{})
		},
	},
	scenario{
		name: "a revoked key is refused at once and for good",
		run: func(b *bench) {
			other, _ := b.newKey("other", "never", auth.Scopes()...)
			b.call(&getStore{})
			n := len(b.entries())
			_, err := b.RevokeKey(b.ctx, b.keyID)
			require.NoError(b, err)
			b.challenged("api_key_revoked")
			require.Equal(b, "api_key.revoked", b.entries()[n].action)
			_, err = b.RevokeKey(b.ctx, b.keyID)
			require.NoError(b, err)
			b.challenged("api_key_revoked")
			b.withKey(other).call(&getStore{})
		},
	},
	scenario{
		name: "the keys of a store that is suspended or closed are refused while it stays so",
		run: func(b *bench) {
			for _, status := range []string{"suspended", "closed"} {
				b.change(&adminv1.UpdateStoreRequest{Status: storefrontv1.Store_Status(storefrontv1.Store_Status_value[status]).Enum()})
				a := b.answer(&getStore{})
				require.Nil(b, b.refusedAs(a, 403, "store_unavailable"))
				require.Empty(b, a.header.Values("WWW-Authenticate"))
			}
			b.change(&adminv1.UpdateStoreRequest{Status: storefrontv1.Store_open.Enum()})
			b.requireFields(b.call(&getStore{}), object{"status": "open"})
		},
	},
	scenario{
		name: "a key without an operation's scope is refused before anything else is judged",
		run: func(b *bench) {
			for _, held := range auth.Scopes() {
				key, id := b.newKey(held, "never", held)
				for _, op := range operations {
					a := b.withKey(key).answer(op.m)
					if held == op.scope || strings.TrimSuffix(held, "write")+"read" == op.scope {
						require.NotEqual(b, 403, a.status, "%s with %s: %v", procedureOf(op.m), held, a.body)
						continue
					}
					details := b.refusedAs(a, 403, "insufficient_scope")
					require.Equal(b, map[string]any{"required": op.scope}, details, procedureOf(op.m))
				}
				_, err := b.RevokeKey(b.ctx, id)
				require.NoError(b, err)
			}
			require.Equal(b, []string{
				"store:read", "products:read", "products:write", "orders:read", "customers:read", "customers:write",
				"payment_links:read", "payment_links:write",
			}, auth.Scopes())
		},
	},
	scenario{
		name: "a store has at most ten active keys, shown once each",
		run: func(b *bench) {
			for i := 1; i < 9; i++ {
				b.newKey(fmt.Sprint("tool ", i), "never", auth.ScopeStoreRead)
			}
			_, tenth := b.newKey("tenth", "30d", auth.ScopeStoreRead)
			_, err := b.CreateKey(b.ctx, shop.KeyDraft{Name: "eleventh", Scopes: auth.Scopes(), Lifetime: adminv1.Key_NEVER})
			require.ErrorContains(b, err, "api_key_limit")
			_, err = b.RevokeKey(b.ctx, tenth)
			require.NoError(b, err)
			text, _ := b.newKey("eleventh", "never", auth.ScopeStoreRead)
			b.withKey(text).call(&getStore{})
			listed, err := admin.New(b.installation.db, admin.Options{}).ListKeys(b.ctx, &adminv1.ListKeysRequest{})
			require.NoError(b, err)
			keys := listed.GetKeys()
			require.Len(b, keys, 11)
			require.NotContains(b, listed.String(), text, "only its creation shows a key")
			require.Equal(b, "eleventh", keys[0].GetName())
			require.Equal(b, "svc_live_..."+text[len(text)-4:], keys[0].GetHint())
			require.Equal(b, []string{auth.ScopeStoreRead}, keys[0].GetScopes())
			if b.isREST() {
				for _, path := range []string{"/v1/keys", "/v1/api-keys", "/v1/store/keys"} {
					b.refusedAs(b.json("GET", path, ""), 404, "not_found")
				}
			}
		},
	},
)

func TestKeyExpiry(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	rows := []struct {
		lifetime string
		last     time.Duration // how long after its creation the key is accepted
	}{
		{"30d", 30 * day}, {"90d", 90 * day}, {"1y", 365 * day}, {"never", 0},
	}
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			s := newService(t, database, settings{})
			b := s.newBench(t, restProtocol{})
			texts := map[string]string{}
			for _, row := range rows {
				texts[row.lifetime], _ = b.newKey(row.lifetime, row.lifetime, auth.ScopeStoreRead)
			}
			_, err := b.CreateKey(b.ctx, shop.KeyDraft{Name: "x", Scopes: auth.Scopes(), Lifetime: adminv1.Key_LIFETIME_UNSPECIFIED})
			require.ErrorContains(t, err, "validation_failed")
			var at time.Duration
			for _, row := range rows[:3] {
				s.gate.advance(row.last - at - time.Millisecond)
				for _, f := range protocols() {
					b.withKey(texts[row.lifetime]).withProtocol(f).call(&getStore{})
				}
				s.gate.advance(time.Millisecond)
				at = row.last
				for _, f := range protocols() {
					b.withKey(texts[row.lifetime]).withProtocol(f).challenged("api_key_expired")
				}
			}
			s.gate.advance(100 * 365 * day)
			b.withKey(texts["never"]).call(&getStore{})
		})
	}
}

func TestPaymentLinksClosedForAllStores(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			s := newService(t, database, settings{options: admin.Options{Shop: shop.Options{PaymentLinksOff: true}}})
			for _, f := range protocols() {
				b := s.newBench(t, f)
				b.refused(&createLink{Title: "x", Pricing: storefrontv1.PaymentLink_FIXED, Amount: new(int64(5))}, 422, "feature_disabled")
				b.requireFields(b.call(&listLinks{}), object{"total": 0})
			}
		})
	}
}
