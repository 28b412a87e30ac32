package limit

import "net/netip"

// clientBits is how many bits of an IPv6 address identify a client, because a network never gets a longer prefix (RFC 6177,
// section 2; RFC 7421) and its owner may use any address in it for each request.
const clientBits = 64

// ClientOf returns what counts as one client: an IPv4 address, or the /64 of an IPv6 address. An IPv4 address inside an IPv6
// one counts as IPv4. Zones are ignored. All invalid addresses are one client.
func ClientOf(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	client, _ := address.Prefix(min(address.BitLen(), clientBits)) // fails only for an invalid address
	return client
}
