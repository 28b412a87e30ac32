package auth_test

import (
	"context"
	"database/sql"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/limit"
)

// Another session has locked the counters of more keys than there are connections. Only their requests wait, until the lock is
// released or their deadline, and all counts are exact.
func TestALockedCounterHoldsUpOnlyItsKey(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{
		"locked": "SELECT count FROM rate_counters WHERE id = $1 FOR UPDATE",
		// With a minute in the future, the count begins anew.
		"being inserted": "INSERT INTO rate_counters (id, minute, count) VALUES ($1, 99999999, 1) RETURNING count",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{T: t, url: dbtest.URL(t, dbtest.Postgres), watch: &watch{at: noon}}
			f.db = f.open()
			f.gate = auth.NewGate(f.db, auth.Options{Clock: f.watch.now})
			f.shop = f.newStore("kiosk")
			free, fresh := f.newKey("Free", time.Time{}), f.newKey("Fresh", time.Time{})
			require.Empty(f, f.code(f.gate, free.header(), home))
			var held []key
			for range 12 {
				held = append(held, f.newKey("Held", time.Time{}))
			}
			counted := 0
			if name == "locked" {
				counted = 1
				for _, k := range held {
					require.Empty(f, f.code(f.gate, k.header(), home))
				}
			}
			session := f.session()
			for _, k := range held {
				var count int
				require.NoError(f, session.QueryRowContext(f.Context(), lock, k.id).Scan(&count))
			}

			const each = 3
			left := make(chan int, each*len(held))
			var waiting sync.WaitGroup
			for _, k := range held {
				for range each {
					waiting.Go(func() {
						_, rate, err := f.gate.Admit(f.Context(), k.header(), home)
						if err != nil {
							f.Error(err)
						}
						left <- rate.Remaining
					})
				}
			}
			short, cancel := context.WithTimeout(f.Context(), 300*time.Millisecond)
			defer cancel()
			_, rate, err := f.gate.Admit(short, held[0].header(), home)
			require.ErrorIs(f, err, context.DeadlineExceeded)
			require.Equal(f, limit.Uncounted(noon), rate)
			for i := range 20 {
				_, rate, code := f.admit(f.gate, free.header(), home)
				require.Empty(f, code)
				require.Equal(f, 118-i, rate.Remaining)
			}
			_, rate, code := f.admit(f.gate, fresh.header(), home)
			require.Empty(f, code)
			require.Equal(f, 119, rate.Remaining)
			require.Empty(f, left, "the requests of held keys wait")

			require.NoError(f, session.Commit())
			waiting.Wait()
			remaining := map[int]int{}
			for range each * len(held) {
				remaining[<-left]++
			}
			require.Equal(f, map[int]int{119 - counted: 12, 118 - counted: 12, 117 - counted: 12}, remaining)
		})
	}
}

// Only requests from this address wait.
func TestALockedAddressHoldsUpNoKey(t *testing.T) {
	t.Parallel()
	f := &fixture{T: t, url: dbtest.URL(t, dbtest.Postgres), watch: &watch{at: noon}}
	f.db = f.open()
	f.gate = auth.NewGate(f.db, auth.Options{Clock: f.watch.now})
	f.shop = f.newStore("kiosk")
	k := f.newKey("Till", time.Time{})
	require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, unknown(), home))
	session := f.session()
	_, err := session.ExecContext(f.Context(), "SELECT FROM address_counters FOR UPDATE")
	require.NoError(f, err)

	codes := make(chan apierr.Code, 12)
	for range cap(codes) {
		go func() { codes <- f.code(f.gate, unknown(), home) }()
	}
	for range 20 {
		require.Empty(f, f.code(f.gate, k.header(), netip.MustParseAddr("198.51.100.1")))
		require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, unknown(), otherAddress))
	}
	require.Empty(f, codes)
	require.NoError(f, session.Commit())
	for range cap(codes) {
		require.Equal(f, apierr.APIKeyInvalid, <-codes)
	}
	for range 20 - 1 - cap(codes) {
		require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, unknown(), home))
	}
	require.Equal(f, apierr.RateLimited, f.code(f.gate, unknown(), home), "each was counted once")
}

// session begins a transaction of another session.
func (f *fixture) session() *sql.Tx {
	f.Helper()
	tx, err := f.open().Writer().BeginTx(f.Context(), nil)
	require.NoError(f, err)
	f.Cleanup(func() { _ = tx.Rollback() })
	return tx
}
