package auth_test

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/auth"
	"go.storefront.example/server/ratelimit"
	"go.storefront.example/server/refusal"
)

func asRefusal(err error, r **refusal.Refusal) bool { return errors.As(err, r) }

var blocked = ratelimit.Rate{Limit: 120, Remaining: 0, Reset: 45 * time.Second, Limited: true}

func TestUnknownKeysOfAnAddress(t *testing.T) {
	for name, header := range map[string]func(i int) []string{
		"well-formed": func(int) []string { return unknown() },
		"malformed":   func(int) []string { return malformed() },
		"mixed": func(i int) []string {
			if i%2 == 0 {
				return malformed()
			}
			return unknown()
		},
		"malformed, well-formed last": func(i int) []string {
			if i < 20 {
				return malformed()
			}
			return unknown()
		},
		"well-formed, malformed last": func(i int) []string {
			if i < 20 {
				return unknown()
			}
			return malformed()
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(f *fixture) {
				k := f.newKey("Till", time.Time{})
				for i := range 20 {
					require.Equal(f, refusal.APIKeyInvalid, f.code(f.gate, header(i), home), "request %d", i+1)
					require.Equal(f, refusal.APIKeyMissing, f.code(f.gate, nil, home), "no key is no unknown key")
					require.Empty(f, f.code(f.gate, k.header(), home), "a good key is taken until then, and does not count")
				}
				_, rate, code := f.admit(f.gate, header(20), home)
				require.Equal(f, refusal.RateLimited, code, "the 21st")
				require.Equal(f, blocked, rate)

				before := f.trips.Load()
				for reason, header := range map[string][]string{
					"a good key": k.header(), "no key": nil, "an unknown key": unknown(), "a malformed key": malformed(),
				} {
					p, rate, code := f.admit(f.gate, header, home)
					require.Equal(f, refusal.RateLimited, code, reason)
					require.Equal(f, blocked, rate, reason)
					require.Equal(f, auth.Principal{}, p, "its keys are not looked at")
				}
				require.Equal(f, before, f.trips.Load(), "a blocked address does not reach the database")
				require.Empty(f, f.code(f.gate, k.header(), away), "another address is not concerned")
				require.Equal(f, refusal.RateLimited,
					f.code(f.gate, k.header(), netip.MustParseAddr("::ffff:203.0.113.7")), "another spelling is")

				f.watch.set(noon.Add(45 * time.Second))
				_, rate, code = f.admit(f.gate, k.header(), home)
				require.Empty(f, code, "until the minute turns")
				require.Equal(f, 119, rate.Remaining)
			})
		})
	}
}

func TestUnknownKeysAcrossServers(t *testing.T) {
	each(t, func(f *fixture) {
		other, k := f.another(), f.newKey("Till", time.Time{})
		for range 10 {
			require.Equal(f, refusal.APIKeyInvalid, f.code(f.gate, unknown(), home))
			require.Equal(f, refusal.APIKeyInvalid, f.code(other, unknown(), home))
		}
		require.Equal(f, refusal.RateLimited, f.code(f.gate, unknown(), home))
		require.Equal(f, refusal.RateLimited, f.code(other, k.header(), home), "the other server knows")
		require.Empty(f, f.code(other, k.header(), away))
	})
}

func TestMalformedKeysAcrossServers(t *testing.T) {
	each(t, func(f *fixture) {
		other, k := f.another(), f.newKey("Till", time.Time{})
		for range 15 {
			require.Equal(f, refusal.APIKeyInvalid, f.code(f.gate, malformed(), home))
		}
		for range 4 {
			require.Equal(f, refusal.APIKeyInvalid, f.code(other, malformed(), home))
		}
		require.NoError(f, f.gate.Flush(f.Context()))
		require.NoError(f, f.gate.Flush(f.Context()), "a second time adds nothing")
		require.NoError(f, other.Flush(f.Context()))
		require.Equal(f, refusal.APIKeyInvalid, f.code(other, malformed(), home), "the 20th")
		require.Equal(f, refusal.RateLimited, f.code(other, malformed(), home), "the 21st: 15 of them came to the first server")
		require.Empty(f, f.code(f.gate, k.header(), home), "the first does not know yet")
		require.NoError(f, other.Flush(f.Context()))
		require.Equal(f, refusal.RateLimited, f.code(f.gate, k.header(), home), "now it does")
	})
}

// What is counted here and what another server counted are added up when a key is looked up.
func TestMalformedKeysAddToThoseOfAnotherServer(t *testing.T) {
	each(t, func(f *fixture) {
		other, k := f.another(), f.newKey("Till", time.Time{})
		for range 10 {
			require.Equal(f, refusal.APIKeyInvalid, f.code(other, unknown(), home))
			require.Equal(f, refusal.APIKeyInvalid, f.code(f.gate, malformed(), home))
		}
		require.Empty(f, f.code(f.gate, k.header(), home), "20 together are allowed")
		require.Equal(f, refusal.APIKeyInvalid, f.code(f.gate, malformed(), home), "the 21st, but the database is not asked")
		require.Equal(f, refusal.RateLimited, f.code(f.gate, k.header(), home), "the next look-up knows")
		require.Empty(f, f.code(other, k.header(), home), "the other server is told with the next flush")
	})
}

func TestUnknownKeysAtOnce(t *testing.T) {
	each(t, func(f *fixture) {
		gates := []*auth.Gate{f.gate, f.another()}
		var (
			invalid atomic.Int64
			all     sync.WaitGroup
		)
		for i := range 60 {
			all.Go(func() {
				_, _, err := gates[i%2].Admit(f.Context(), unknown(), home)
				var r *refusal.Refusal
				if asRefusal(err, &r) && r.Code == refusal.APIKeyInvalid {
					invalid.Add(1)
				} else if r == nil || r.Code != refusal.RateLimited {
					f.Errorf("unexpected: %v", err)
				}
			})
		}
		all.Wait()
		require.EqualValues(f, 20, invalid.Load())
	})
}

// Counts move to the database while requests are admitted: none is lost, none counted twice.
func TestUnknownKeysWhileFlushing(t *testing.T) {
	each(t, func(f *fixture) {
		done, flushed := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				select {
				case <-done:
					flushed <- f.gate.Flush(f.Context())
					return
				default:
					if err := f.gate.Flush(f.Context()); err != nil {
						flushed <- err
						return
					}
				}
			}
		}()
		for i := range 20 {
			header := malformed()
			if i%4 == 3 {
				header = unknown()
			}
			require.Equal(f, refusal.APIKeyInvalid, f.code(f.gate, header, home), "request %d", i+1)
		}
		require.Equal(f, refusal.RateLimited, f.code(f.gate, unknown(), home), "the 21st")
		close(done)
		require.NoError(f, <-flushed)
	})
}
