package limit

import "net/netip"

// clientBits is how many bits of an IPv6 address identify a client. Networks get prefixes of at most 64 bits (RFC 6177,
// section 2; RFC 7421), and the owner of a network may use any of its addresses.
const clientBits = 64

// ClientOf returns the addresses that count as one client: an IPv4 address, or the /64 of an IPv6 address. An IPv4 address
// in IPv6 form counts as IPv4. Zones do not matter. All invalid addresses are one client.
func ClientOf(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	client, _ := address.Prefix(min(address.BitLen(), clientBits)) // fails only for an invalid address
	return client
}
