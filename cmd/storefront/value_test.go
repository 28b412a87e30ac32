package main

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client's IPv4 address is compared in its own form, however the network is written.
func TestNetworksOfIPv4InIPv6sForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.0/8":          "10.0.0.0/8",
		"10.1.2.3":            "10.1.2.3/32",
		"::ffff:10.1.2.3":     "10.1.2.3/32",
		"::ffff:10.1.2.3/104": "10.0.0.0/8",
		"2001:db8::1":         "2001:db8::1/128",
		"::/0":                "::/0",
	} {
		var n network
		require.NoError(t, n.UnmarshalText([]byte(text)))
		require.Equal(t, netip.MustParsePrefix(want), n.prefix, text)
	}
}
