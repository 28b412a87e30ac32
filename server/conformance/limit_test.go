package conformance_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/auth"
)

// rate asserts the rate-limit headers. reset is in seconds.
func (b *bench) rate(a answer, remaining, reset int) {
	b.Helper()
	require.Equal(b, []string{"120"}, a.header.Values("X-Ratelimit-Limit"))
	require.Equal(b, []string{strconv.Itoa(remaining)}, a.header.Values("X-Ratelimit-Remaining"))
	require.Equal(b, []string{strconv.Itoa(reset)}, a.header.Values("X-Ratelimit-Reset"))
}

// The limit counts all addresses and protocols together, and refused requests. Another key has a count of its own.
func TestKeyLimit(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			s := newService(t, database, settings{})
			b := s.newBench(t, restProtocol{})
			other, _ := b.newKey("other", "never", auth.Scopes()...)
			for i := range 120 {
				f := protocols()[i%len(protocols())]
				a := b.withProtocol(f).answer(operations[i%len(operations)].m)
				require.NotEqual(t, 429, a.status)
				b.rate(a, 119-i, 30)
			}
			for _, f := range protocols() {
				for _, op := range operations {
					a := b.withProtocol(f).answer(op.m)
					require.Nil(t, b.refusedAs(a, 429, "rate_limited"))
					require.Equal(t, []string{"30"}, a.header.Values("Retry-After"))
					b.rate(a, 0, 30)
				}
			}
			a := b.json("GET", "/v1/nothing", "")
			b.refusedAs(a, 429, "rate_limited")
			b.rate(b.withKey(other).answer(&getStore{}), 119, 30)
			a = b.withKey("").answer(&getStore{})
			b.refusedAs(a, 401, "api_key_missing")
			b.rate(a, 120, 30)

			s.gate.advance(29*time.Second + 999*time.Millisecond)
			a = b.answer(&getStore{})
			b.refusedAs(a, 429, "rate_limited")
			require.Equal(t, []string{"1"}, a.header.Values("Retry-After"), "rounded up: who waits that long is served")
			s.gate.advance(time.Millisecond)
			b.rate(b.answer(&getStore{}), 119, 60)
			a = b.json("GET", "/v1/nothing", "")
			b.refusedAs(a, 404, "not_found")
			b.rate(a, 118, 60)
		})
	}
}

// After twenty unknown keys. Requests with no key or a revoked one do not count.
func TestAddressLimit(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			s := newService(t, database, settings{})
			b := s.newBench(t, restProtocol{})
			revoked, id := b.newKey("old", "never", auth.Scopes()...)
			_, err := b.RevokeKey(b.ctx, id)
			require.NoError(t, err)
			for range 30 {
				b.withKey("").challenged("api_key_missing")
				b.withKey(revoked).challenged("api_key_revoked")
			}
			for i := range 20 {
				key := auth.NewKey(uuid.New())
				if i%2 == 1 {
					key = "malformed"
				}
				a := b.withKey(key).withProtocol(protocols()[i%len(protocols())]).answer(&getStore{})
				b.refusedAs(a, 401, "api_key_invalid")
				b.rate(a, 120, 30)
			}
			b.rate(b.answer(&getStore{}), 119, 30)
			for _, key := range []string{auth.NewKey(uuid.New()), "malformed", b.key, revoked, ""} {
				for _, f := range protocols() {
					a := b.withKey(key).withProtocol(f).answer(&getStore{})
					require.Nil(t, b.refusedAs(a, 429, "rate_limited"))
					require.Equal(t, []string{"30"}, a.header.Values("Retry-After"))
					b.rate(a, 0, 30)
				}
			}
			elsewhere := *b
			elsewhere.address = "203.0.113.9"
			b.rate(elsewhere.answer(&getStore{}), 118, 30)
			s.gate.advance(30 * time.Second)
			b.rate(b.answer(&getStore{}), 119, 60)
		})
	}
}
