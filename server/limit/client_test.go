package limit_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/limit"
)

func TestClientOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, address, want string }{
		{"IPv4 as it is", "203.0.113.7", "203.0.113.7/32"},
		{"its neighbour is another", "203.0.113.8", "203.0.113.8/32"},
		{"IPv4 in IPv6's form", "::ffff:203.0.113.7", "203.0.113.7/32"},
		{"the whole /64 of IPv6", "2001:db8:1:2::7", "2001:db8:1:2::/64"},
		{"its last address", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"},
		{"the next /64 is another", "2001:db8:1:3::7", "2001:db8:1:3::/64"},
		{"a zone is no part of it", "fe80::1%eth0", "fe80::/64"},
		{"the machine itself", "::1", "::/64"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			require.Equal(t, row.want, limit.ClientOf(netip.MustParseAddr(row.address)).String())
		})
	}
	require.Equal(t, netip.Prefix{}, limit.ClientOf(netip.Addr{}), "no address is one client")
}
