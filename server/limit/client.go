package limit

import "net/netip"

// clientBits is how much of an IPv6 address identifies a client: a network never gets less (RFC
// 6177, section 2; RFC 7421), and its owner may use any address in it for each request.
const clientBits = 64

// ClientOf returns the unit of a limit by address: an IPv4 address, or the /64 of an IPv6 one. An IPv4
// address inside an IPv6 one is that IPv4 address, and a zone is ignored. All invalid addresses are one client.
func ClientOf(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	client, _ := address.Prefix(min(address.BitLen(), clientBits)) // fails for an invalid address only
	return client
}
