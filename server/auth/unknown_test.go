package auth_test

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/limit"
)

func asRefusal(err error, r **apierr.Refusal) bool { return errors.As(err, r) }

var blocked = limit.Rate{Limit: 120, Remaining: 0, Reset: 45 * time.Second, Limited: true}

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
					require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, header(i), home), "request %d", i+1)
					require.Equal(f, apierr.APIKeyMissing, f.code(f.gate, nil, home), "no key is no unknown key")
					require.Empty(f, f.code(f.gate, k.header(), home), "a good key is taken until then, and does not count")
				}
				_, rate, code := f.admit(f.gate, header(20), home)
				require.Equal(f, apierr.RateLimited, code, "the 21st")
				require.Equal(f, blocked, rate)

				before := f.trips.Load()
				for reason, header := range map[string][]string{
					"a good key": k.header(), "no key": nil, "an unknown key": unknown(), "a malformed key": malformed(),
				} {
					p, rate, code := f.admit(f.gate, header, home)
					require.Equal(f, apierr.RateLimited, code, reason)
					require.Equal(f, blocked, rate, reason)
					require.Equal(f, auth.Principal{}, p, "its keys are not looked at")
				}
				require.Equal(f, before, f.trips.Load(), "a blocked address does not reach the database")
				require.Empty(f, f.code(f.gate, k.header(), otherAddress), "another address is not concerned")
				require.Equal(f, apierr.RateLimited,
					f.code(f.gate, k.header(), netip.MustParseAddr("::ffff:203.0.113.7")), "another form of the address is")

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
			require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, unknown(), home))
			require.Equal(f, apierr.APIKeyInvalid, f.code(other, unknown(), home))
		}
		require.Equal(f, apierr.RateLimited, f.code(f.gate, unknown(), home))
		require.Equal(f, apierr.RateLimited, f.code(other, k.header(), home), "the other server refuses too")
		require.Empty(f, f.code(other, k.header(), otherAddress))
	})
}

func TestMalformedKeysAcrossServers(t *testing.T) {
	each(t, func(f *fixture) {
		other, k := f.another(), f.newKey("Till", time.Time{})
		for range 15 {
			require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, malformed(), home))
		}
		for range 5 {
			require.Equal(f, apierr.APIKeyInvalid, f.code(other, malformed(), home))
		}
		require.Empty(f, f.code(f.gate, k.header(), home), "20 together are allowed")
		require.Equal(f, apierr.RateLimited, f.code(other, malformed(), home), "the 21st")
		require.Equal(f, apierr.RateLimited, f.code(f.gate, k.header(), home), "the first server refuses at once")
	})
}

// One client may use any address of a /64.
func TestUnknownKeysOfANetwork(t *testing.T) {
	each(t, func(f *fixture) {
		k := f.newKey("Till", time.Time{})
		for i := range 20 {
			from := netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 7: 1, 8: byte(i), 15: 9})
			require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, unknown(), from))
		}
		require.Equal(f, apierr.RateLimited, f.code(f.gate, unknown(), netip.MustParseAddr("2001:db8:0:1::abcd")), "the 21st")
		before := f.trips.Load()
		require.Equal(f, apierr.RateLimited, f.code(f.gate, k.header(), netip.MustParseAddr("2001:db8:0:1:ffff::1")))
		require.Equal(f, before, f.trips.Load(), "without asking the database")
		require.Empty(f, f.code(f.gate, k.header(), netip.MustParseAddr("2001:db8:0:2::1")), "the next network is not concerned")
	})
}

// At one server or two, exactly 20 of the requests are answered with api_key_invalid.
func TestUnknownKeysAtOnce(t *testing.T) {
	for name, servers := range map[string]int{"one server": 1, "two servers": 2} {
		t.Run(name, func(t *testing.T) {
			each(t, func(f *fixture) {
				gates := []*auth.Gate{f.gate}
				for len(gates) < servers {
					gates = append(gates, f.another())
				}
				var (
					invalid atomic.Int64
					all     sync.WaitGroup
				)
				start := make(chan struct{})
				for i := range 80 {
					all.Go(func() {
						header := unknown()
						if i%4 < 2 {
							header = malformed()
						}
						<-start
						_, _, err := gates[i%servers].Admit(f.Context(), header, home)
						var r *apierr.Refusal
						if asRefusal(err, &r) && r.Code == apierr.APIKeyInvalid {
							invalid.Add(1)
						} else if r == nil || r.Code != apierr.RateLimited {
							f.Errorf("unexpected: %v", err)
						}
					})
				}
				close(start)
				all.Wait()
				require.EqualValues(f, 20, invalid.Load())
			})
		})
	}
}
