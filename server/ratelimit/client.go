package ratelimit

import "net/netip"

// clientBits is how much of an IPv6 address is one client: a network is never given less (RFC 6177,
// section 2; RFC 7421), and whoever has it may take any address in it for each request.
const clientBits = 64

// Client is what a limit by address counts an address as: an IPv4 address, or the /64 of an IPv6
// one. It is a comparable value; the zero value is that of no address.
type Client struct{ prefix netip.Prefix }

// ClientOf returns the client of an address. An IPv4 address inside an IPv6 one is that IPv4
// address, and a zone counts for nothing. All that are no address are one client.
func ClientOf(address netip.Addr) Client {
	address = address.Unmap().WithZone("")
	bits := clientBits
	if address.Is4() {
		bits = address.BitLen()
	}
	// It fails for no address only, whose prefix is the zero value.
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
