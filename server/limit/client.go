package limit

import "net/netip"

// clientBits is how much of an IPv6 address identifies a client: a network never gets less (RFC
// 6177, section 2; RFC 7421), and its owner may use any address in it for each request.
const clientBits = 64

// Client is the unit of a limit by address: an IPv4 address, or the /64 of an IPv6 one. It is
// comparable; the zero value is that of an invalid address.
type Client struct{ prefix netip.Prefix }

// ClientOf returns the client of an address. An IPv4 address inside an IPv6 one is that IPv4
// address, and a zone is ignored. All invalid addresses are one client.
func ClientOf(address netip.Addr) Client {
	address = address.Unmap().WithZone("")
	bits := clientBits
	if address.Is4() {
		bits = address.BitLen()
	}
	// Only an invalid address fails, and its prefix is the zero value.
	prefix, _ := address.Prefix(bits)
	return Client{prefix}
}

// String is 203.0.113.7, 2001:db8::/64, or "none".
func (c Client) String() string {
	switch {
	case !c.prefix.IsValid():
		return "none"
	case c.prefix.IsSingleIP():
		return c.prefix.Addr().String()
	}
	return c.prefix.String()
}
