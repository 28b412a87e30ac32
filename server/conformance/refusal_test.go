package conformance_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/conformance/openapi"
)

// occasion provokes a code with any operation, such as a request without a key. Codes of one operation are tested elsewhere.
type occasion struct {
	code string
	// service starts a service that the occasion breaks; nil means a shared one.
	service func(t *testing.T, database string) *installation
	// database is the only database of the test; empty means all.
	database string
	// prepare returns a bench whose requests are refused with the code, and a function that changes a request.
	prepare func(b *bench) (*bench, func(x *openapi.Exchange))
}

func state(prepare func(b *bench) *bench) func(*bench) (*bench, func(*openapi.Exchange)) {
	return func(b *bench) (*bench, func(*openapi.Exchange)) {
		return prepare(b), func(*openapi.Exchange) {}
	}
}

func asked(change func(x *openapi.Exchange)) func(*bench) (*bench, func(*openapi.Exchange)) {
	return func(b *bench) (*bench, func(*openapi.Exchange)) { return b, change }
}

// nowhere replaces the id in a request's path by one that no resource has.
var nowhere = asked(func(x *openapi.Exchange) {
	steps := strings.Split(x.URL.Path, "/")
	steps[3] = unknownID()
	x.URL.Path = strings.Join(steps, "/")
})

var occasions = []occasion{
	{code: "api_key_missing", prepare: state(func(b *bench) *bench { return b.withKey("") })},
	{code: "api_key_invalid", prepare: state(func(b *bench) *bench { return b.withKey("svc_live_unknown") })},
	{code: "api_key_revoked", prepare: state(func(b *bench) *bench {
		_, err := b.RevokeKey(b.ctx, b.keyID)
		require.NoError(b, err)
		return b
	})},
	{code: "api_key_expired", prepare: state(func(b *bench) *bench {
		_, err := b.installation.db.Writer().Exec("UPDATE api_keys SET expires_at = $1 WHERE id = $2", opening.Add(-time.Hour), b.keyID)
		require.NoError(b, err)
		return b
	})},
	{code: "store_unavailable", prepare: state(func(b *bench) *bench {
		b.change(&adminv1.UpdateStoreRequest{Status: storefrontv1.Store_suspended.Enum()})
		return b
	})},
	{code: "insufficient_scope", prepare: state(func(b *bench) *bench {
		// A key without scopes cannot be created otherwise.
		_, err := b.installation.db.Writer().Exec("UPDATE api_keys SET scopes = '[]' WHERE id = $1", b.keyID)
		require.NoError(b, err)
		return b
	})},
	{code: "rate_limited", prepare: state(func(b *bench) *bench {
		for range 120 {
			b.get("/v1/store")
		}
		return b
	})},
	{code: "internal_error", service: fresh, prepare: state(func(b *bench) *bench {
		_, err := b.installation.db.Writer().Exec("ALTER TABLE api_keys RENAME COLUMN scopes TO other")
		require.NoError(b, err)
		return b
	})},
	{code: "unavailable", service: throughCable, database: dbtest.Postgres, prepare: state(func(b *bench) *bench {
		b.cable.cut()
		return b
	})},
	{code: "product_not_found", prepare: nowhere},
	{code: "order_not_found", prepare: nowhere},
	{code: "customer_not_found", prepare: nowhere},
	{code: "payment_link_not_found", prepare: nowhere},
	{code: "validation_failed", prepare: asked(func(x *openapi.Exchange) {
		x.URL.RawQuery = "unknown=1"
	})},
	{code: "payload_too_large", prepare: asked(func(x *openapi.Exchange) {
		x.RequestBody = bytes.Repeat([]byte(" "), 1<<20+1)
	})},
	{code: "unsupported_media_type", prepare: asked(func(x *openapi.Exchange) {
		x.RequestHeader.Set("Content-Type",
			"text/plain")
	})},
}

func TestDocumentRefusals(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			shared := newService(t, database, settings{step: time.Millisecond})
			for _, o := range occasions {
				if o.database != "" && o.database != database {
					continue
				}
				t.Run(o.code, func(t *testing.T) {
					t.Parallel()
					s := shared
					if o.service != nil {
						s = o.service(t, database)
					}
					b := s.newBench(t, restProtocol{})
					at := b.furnish()
					b, change := o.prepare(b)
					met := 0
					for _, op := range document().Operations() {
						if !slices.ContainsFunc(op.Statuses(), func(status int) bool { return slices.Contains(op.Codes(status), o.code) }) {
							continue
						}
						x := op.Examples()[0]
						x.URL.Path = at(op.Path)
						change(&x)
						a, err := b.ask(x)
						require.NoError(b, err)
						require.Equal(b, o.code, a.body["code"], op.ID)
						if o.code == "insufficient_scope" {
							require.Equal(b, map[string]any{"required": op.Scopes()[0]}, a.body["details"], op.ID)
						}
						met++
					}
					require.NotZero(b, met, "the document has no operation that is refused with %s", o.code)
				})
			}
		})
	}
}
