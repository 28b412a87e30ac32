package auth_test

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/limit"
)

func TestAdmitTellsWhoAsks(t *testing.T) {
	each(t, func(f *fixture) {
		k := f.newKey(`Till "2" – é`, time.Time{})
		f.newKey("Another", time.Time{})

		p, rate, code := f.admit(f.gate, k.header(), home)

		require.Empty(f, code)
		require.Equal(f, auth.Principal{
			KeyID: k.id, KeyName: `Till "2" – é`,
			Scopes: []string{auth.ScopeProductsWrite, auth.ScopeOrdersRead}, Store: f.shop,
		}, p)
		require.Equal(f, limit.Rate{Limit: 120, Remaining: 119, Reset: 45 * time.Second}, rate)
	})
}

func TestAdmitRefuses(t *testing.T) {
	each(t, func(f *fixture) {
		live := f.newKey("Live", noon.Add(time.Millisecond))
		expired := f.newKey("Expired", noon)
		revoked := f.newKey("Revoked", time.Time{})
		f.revoke(revoked)
		both := f.newKey("Both", noon)
		f.revoke(both)
		free := limit.Rate{Limit: 120, Remaining: 120, Reset: 45 * time.Second}
		used := limit.Rate{Limit: 120, Remaining: 119, Reset: 45 * time.Second}

		for _, row := range []struct {
			reason string
			header []string
			want   apierr.Code
			key    uuid.UUID
			rate   limit.Rate
		}{
			{"no header", nil, apierr.APIKeyMissing, uuid.Nil, free},
			{"another scheme", []string{"Basic " + live.text}, apierr.APIKeyMissing, uuid.Nil, free},
			{"a key that does not exist", unknown(), apierr.APIKeyInvalid, uuid.Nil, free},
			{"a key with a wrong checksum", malformed(), apierr.APIKeyInvalid, uuid.Nil, free},
			{"no key at all", []string{"Bearer no_key_at_all"}, apierr.APIKeyInvalid, uuid.Nil, free},
			{"a revoked key is known, and counts", revoked.header(), apierr.APIKeyRevoked, revoked.id, used},
			{"an expired key is known, and counts: it is expired at the very instant", expired.header(), apierr.APIKeyExpired, expired.id,
				used},
			{"revoked for good comes before expired", both.header(), apierr.APIKeyRevoked, both.id, used},
			{"a millisecond before its expiry a key is good", live.header(), "", live.id, used},
		} {
			p, rate, code := f.admit(f.gate, row.header, home)
			require.Equal(f, row.want, code, row.reason)
			require.Equal(f, row.key, p.KeyID, row.reason)
			require.Equal(f, row.rate, rate, row.reason)
		}

		f.watch.set(noon.Add(time.Millisecond))
		require.Equal(f, apierr.APIKeyExpired, f.code(f.gate, live.header(), home), "a millisecond later it is not")
	})
}

func TestAdmitRefusesWhileTheStoreIsNotOpen(t *testing.T) {
	each(t, func(f *fixture) {
		k, revoked := f.newKey("Till", time.Time{}), f.newKey("Old", time.Time{})
		f.revoke(revoked)
		remaining := 120
		for _, status := range []string{"suspended", "closed"} {
			f.setStatus(status)
			p, rate, code := f.admit(f.gate, k.header(), home)
			require.Equal(f, apierr.StoreUnavailable, code)
			require.Equal(f, k.id, p.KeyID, "the log names the key")
			require.Equal(f, f.shop.Slug, p.Store.Slug)
			remaining--
			require.Equal(f, remaining, rate.Remaining, "a refused request counts")
			require.Equal(f, apierr.APIKeyRevoked, f.code(f.gate, revoked.header(), home), "the key comes before the store")
		}
		f.setStatus("open")
		require.Empty(f, f.code(f.gate, k.header(), home), "only while it stays so")
	})
}

func TestRevokedIsSeenByTheNextRequestOfEveryServer(t *testing.T) {
	each(t, func(f *fixture) {
		other, k := f.another(), f.newKey("Till", time.Time{})
		require.Empty(f, f.code(f.gate, k.header(), home))
		require.Empty(f, f.code(other, k.header(), home))
		f.revoke(k)
		require.Equal(f, apierr.APIKeyRevoked, f.code(f.gate, k.header(), home))
		require.Equal(f, apierr.APIKeyRevoked, f.code(other, k.header(), home))
	})
}

func TestKeyLimitAcrossServers(t *testing.T) {
	each(t, func(f *fixture) {
		gates, k := []*auth.Gate{f.gate, f.gate}, f.newKey("Till", time.Time{})
		if f.db.Dialect() != dialect.SQLite { // a SQLite file has only one server
			gates[1] = f.another()
		}
		var (
			admitted, limited atomic.Int64
			all               sync.WaitGroup
		)
		for i := range 130 {
			all.Go(func() {
				_, rate, err := gates[i%2].Admit(f.Context(), k.header(), home)
				var r *apierr.Refusal
				switch {
				case err == nil:
					admitted.Add(1)
				case asRefusal(err, &r) && r.Code == apierr.RateLimited && rate.Remaining == 0 && rate.Reset == 45*time.Second:
					limited.Add(1)
				default:
					f.Errorf("unexpected: %v, %+v", err, rate)
				}
			})
		}
		all.Wait()
		require.EqualValues(f, 120, admitted.Load())
		require.EqualValues(f, 10, limited.Load())

		second := f.newKey("Second", time.Time{})
		_, rate, code := f.admit(f.gate, second.header(), home)
		require.Empty(f, code)
		require.Equal(f, 119, rate.Remaining, "two keys of one store have separate counters")
		f.setStatus("closed")
		require.Equal(f, apierr.RateLimited, f.code(f.gate, k.header(), home), "the counter comes before the store's status")
		f.revoke(k)
		_, rate, code = f.admit(f.gate, k.header(), home)
		require.Equal(f, apierr.APIKeyRevoked, code, "the key comes before the counter")
		require.Equal(f, 0, rate.Remaining)
	})
}

// It continues from the counts that the server before it wrote.
func TestKeyLimitAfterARestart(t *testing.T) {
	each(t, func(f *fixture) {
		k, other := f.newKey("Till", time.Time{}), f.newKey("Second", time.Time{})
		for range 3 {
			require.Empty(f, f.code(f.gate, k.header(), home))
		}
		require.NoError(f, f.gate.Flush(f.Context()))
		require.Empty(f, f.code(f.gate, k.header(), home))
		require.Empty(f, f.code(f.gate, other.header(), home))
		require.NoError(f, f.gate.Flush(f.Context()))
		before := f.trips.Load()
		require.NoError(f, f.gate.Flush(f.Context()))
		require.Equal(f, before, f.trips.Load(), "what is written is not written again")

		next := f.another()
		_, rate, _ := f.admit(next, k.header(), home)
		require.Equal(f, 120-5, rate.Remaining)
		_, rate, _ = f.admit(next, other.header(), home)
		require.Equal(f, 120-2, rate.Remaining)
		f.watch.set(noon.Add(time.Minute))
		_, rate, _ = f.admit(f.another(), k.header(), home)
		require.Equal(f, 119, rate.Remaining, "in the same minute")
	})
}

func TestCounterRestartsWithTheMinute(t *testing.T) {
	each(t, func(f *fixture) {
		k := f.newKey("Till", time.Time{})
		turn := noon.Truncate(time.Minute).Add(time.Minute)
		for _, row := range []struct {
			reason    string
			at        time.Time
			remaining int
			reset     time.Duration
		}{
			{"the first", noon, 119, 45 * time.Second},
			{"the last millisecond is the same minute", turn.Add(-time.Millisecond), 118, time.Second},
			{"the turn starts from zero", turn, 119, time.Minute},
			{"a request that the turn overtook counts on", turn.Add(-time.Millisecond), 118, time.Second},
			{"and does not take the counter back", turn, 117, time.Minute},
			{"a day later", turn.Add(24 * time.Hour), 119, time.Minute},
			{"a clock set back does not keep the key waiting for it", noon, 119, 45 * time.Second},
		} {
			f.watch.set(row.at)
			_, rate, code := f.admit(f.gate, k.header(), home)
			require.Empty(f, code, row.reason)
			require.Equal(f, limit.Rate{Limit: 120, Remaining: row.remaining, Reset: row.reset}, rate, row.reason)
		}
	})
}

// On PostgreSQL the default is the database's clock, so that servers whose clocks differ agree; on SQLite that of db.Config.
func TestAdmitGoesByTheSharedClock(t *testing.T) {
	t.Parallel()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{T: t, url: dbtest.URL(t, name), watch: &watch{at: noon}}
			f.db = f.open()
			f.shop = f.newStore("kiosk")
			hour := f.newKey("An hour", time.Now().Add(time.Hour))
			past := f.newKey("The past", time.Now().Add(-time.Hour))
			ahead := auth.NewGate(f.openWith(db.Config{
				ProcessClock: func() time.Time { return time.Now().Add(1000 * time.Hour) },
			}), auth.Options{})

			want := apierr.Code("")
			if name == dbtest.SQLite {
				want = apierr.APIKeyExpired
			}
			require.Equal(f, want, f.code(ahead, hour.header(), home))
			require.Equal(f, apierr.APIKeyExpired, f.code(ahead, past.header(), home))
		})
	}
}

func TestAdmitTakesOneRoundTrip(t *testing.T) {
	each(t, func(f *fixture) {
		k := f.newKey("Till", time.Time{})
		revoked := f.newKey("Old", time.Time{})
		f.revoke(revoked)
		for _, row := range []struct {
			reason string
			header []string
			trips  int64
		}{
			{"a good key", k.header(), 1},
			{"the same again", k.header(), 1},
			{"a revoked key", revoked.header(), 1},
			{"an unknown key counts on its address: a second one, twenty times a minute at most", unknown(), 2},
			{"no key", nil, 0},
			{"a malformed key is counted only", malformed(), 1},
			{"a good key from an address that is held in memory", k.header(), 1},
		} {
			before := f.trips.Load()
			f.code(f.gate, row.header, home)
			require.Equal(f, row.trips, f.trips.Load()-before, row.reason)
		}
	})
}

// One statement looks up several requests. Each is counted by itself.
func TestRequestsAtOnceCountOneByOne(t *testing.T) {
	each(t, func(f *fixture) {
		keys := []key{f.newKey("One", time.Time{}), f.newKey("Two", time.Time{}), f.newKey("Three", time.Time{})}
		var (
			mu   sync.Mutex
			left = map[uuid.UUID][]int{}
			all  sync.WaitGroup
		)
		for i := range 120 {
			all.Go(func() {
				k := keys[i*i%len(keys)]
				if i%12 == 0 {
					_, _, _ = f.gate.Admit(f.Context(), unknown(), otherAddress)
				}
				p, rate, err := f.gate.Admit(f.Context(), k.header(), home)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || p.KeyID != k.id || p.Store.ID != f.shop.ID {
					f.Errorf("%v, %+v", err, p)
				}
				left[p.KeyID] = append(left[p.KeyID], 119-rate.Remaining)
			})
		}
		all.Wait()
		for _, k := range keys {
			slices.Sort(left[k.id])
			for i, n := range left[k.id] {
				require.Equal(f, i, n)
			}
		}
	})
}

// A minute may begin between the statement that does not find a key and the one that finds that it exists.
func TestAdmitLooksTwiceForAKeyThatExists(t *testing.T) {
	each(t, func(f *fixture) {
		k := f.newKey("Till", time.Time{})
		f.gate.Miss(1)
		require.Empty(f, f.code(f.gate, k.header(), home))
		f.gate.Miss(2)
		_, _, err := f.gate.Admit(f.Context(), k.header(), home)
		require.ErrorContains(f, err, "found and not found")
	})
}

func TestAdmitTellsAFailureOfTheDatabase(t *testing.T) {
	each(t, func(f *fixture) {
		k := f.newKey("Till", time.Time{})
		ended, end := context.WithCancel(f.Context())
		end()
		p, rate, err := f.gate.Admit(ended, k.header(), netip.Addr{})
		require.ErrorIs(f, err, context.Canceled)
		require.ErrorContains(f, err, "look up the api key")
		require.Equal(f, auth.Principal{}, p)
		require.Equal(f, limit.Uncounted(noon), rate, "the response has its headers all the same")
	})
}
