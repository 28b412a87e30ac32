package limit

import "net/netip"

// clientBits is 64, because networks get prefixes of at most 64 bits (RFC 6177, section 2; RFC 7421), and a network's owner may
// use any of its addresses.
const clientBits = 64

// ClientOf returns the addresses that count as one client: an IPv4 address, also in IPv6 form, or the /64 of an IPv6 address.
// Zones do not matter. All invalid addresses are one client.
func ClientOf(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	client, _ := address.Prefix(min(address.BitLen(), clientBits)) // fails only for an invalid address
	return client
}
