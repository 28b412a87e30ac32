package egress

import (
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// block is a part of the address space that deliveries are never sent to.
type block struct {
	prefix      netip.Prefix
	description string
	// private is true if Policy.AllowPrivate allows the block, in which tests and development machines listen. In others only
	// clouds or routers answer.
	private bool
}

// blocks are checked from the top; the first one that contains an address decides. They are the
// IANA special-purpose registries, whole, including the "globally reachable" entries, because no
// receiver has such an address:
//   - https://www.iana.org/assignments/iana-ipv4-special-registry
//   - https://www.iana.org/assignments/iana-ipv6-special-registry
//
// and multicast (RFC 5771), and the addresses at which clouds serve credentials.
var blocks = []block{
	{netip.MustParsePrefix("169.254.169.254/32"), "metadata of most clouds", false},
	{netip.MustParsePrefix("100.100.100.200/32"), "metadata of Alibaba Cloud", false},
	{netip.MustParsePrefix("168.63.129.16/32"), "the host agent of Azure, an address that looks public", false},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "metadata of AWS", false},
	{netip.MustParsePrefix("fd20:ce::254/128"), "metadata of Google Cloud", false},

	{netip.MustParsePrefix("0.0.0.0/8"), "this network and unspecified, RFC 791", false},
	{netip.MustParsePrefix("10.0.0.0/8"), "private, RFC 1918", true},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared by carriers, RFC 6598", true},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback, RFC 1122", true},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, RFC 3927", false},
	{netip.MustParsePrefix("172.16.0.0/12"), "private, RFC 1918", true},
	{netip.MustParsePrefix("192.0.0.0/24"), "IETF protocols, RFC 6890", false},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation, RFC 5737", false},
	{netip.MustParsePrefix("192.31.196.0/24"), "AS112, RFC 7535", false},
	{netip.MustParsePrefix("192.52.193.0/24"), "multicast tunnels, RFC 7450", false},
	{netip.MustParsePrefix("192.88.99.0/24"), "relays of 6to4, RFC 7526", false},
	{netip.MustParsePrefix("192.168.0.0/16"), "private, RFC 1918", true},
	{netip.MustParsePrefix("192.175.48.0/24"), "AS112, RFC 7534", false},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarks, RFC 2544", false},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation, RFC 5737", false},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation, RFC 5737", false},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast, RFC 5771", false},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved and broadcast, RFC 1112", false},

	{netip.MustParsePrefix("::1/128"), "loopback, RFC 4291", true},
	{netip.MustParsePrefix("fc00::/7"), "unique local, RFC 4193", true},
	{netip.MustParsePrefix("2001::/23"), "IETF protocols: Teredo, ORCHID, benchmarks, RFC 2928", false},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation, RFC 3849", false},
	{netip.MustParsePrefix("2002::/16"), "6to4: holds an IPv4 address, RFC 3056", false},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "AS112, RFC 7534", false},
	{netip.MustParsePrefix("3fff::/20"), "documentation, RFC 9637", false},
	// Everything outside 2000::/3, the only allocated part (RFC 4291, section 2.4): every other form of an IPv4 address (::/96,
	// ::ffff:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48), and link-local, site-local and multicast. refused checks the IPv4 address
	// in 64:ff9b::/96 first; in 64:ff9b:1::/48 each network chooses its place (RFC 8215).
	{netip.MustParsePrefix("::/3"), "outside global unicast: unspecified, IPv4 inside IPv6, local NAT64", false},
	{netip.MustParsePrefix("4000::/2"), "outside global unicast", false},
	{netip.MustParsePrefix("8000::/1"), "outside global unicast: link-local, site-local, multicast", false},
}

// nat64 leads a network without IPv4 to IPv4-only addresses, which are the last 32 bits (RFC 6052, section 2.1). DNS64 makes
// such addresses for public names (RFC 6147).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

func behindNAT64(addr netip.Addr) (netip.Addr, bool) {
	if addr.Zone() != "" || !nat64.Contains(addr) {
		return netip.Addr{}, false
	}
	ip16 := addr.As16()
	return netip.AddrFrom4([4]byte(ip16[12:])), true
}

// refused forbids an address. With the prefix nat64 the IPv4 address inside decides; a private one is forbidden even with
// AllowPrivate (RFC 6052, section 3.1), because it would be in the gateway's network. Callers have turned other IPv6 forms of a
// resolver's IPv4 addresses into plain ones.
func (p Policy) refused(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Zone() != "" {
		return true // an address with a zone belongs to an interface of this machine, and no prefix contains it
	}
	if behind, ok := behindNAT64(addr); ok {
		return Policy{}.refused(behind)
	}
	for _, b := range blocks {
		if b.prefix.Contains(addr) {
			return !(b.private && p.AllowPrivate)
		}
	}
	return false
}

// secondGuard is a library's table from the same registries. Unless AllowPrivate is set, either table refuses an address, so
// that a gap in one does no harm.
var secondGuard = ssrf.New(ssrf.WithAnyPort())

// control is a net.Dialer's Control: it checks the address that the system is about to connect to, regardless of earlier checks.
func (p Policy) control(network, address string, raw syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil || p.refused(target.Addr()) {
		return errAddressRefused
	}
	if behind, ok := behindNAT64(target.Addr()); ok {
		// secondGuard refuses every NAT64 address, so it gets the IPv4 address inside.
		network, address = "tcp4", netip.AddrPortFrom(behind, target.Port()).String()
	} else if p.AllowPrivate {
		return nil
	}
	if secondGuard.Safe(network, address, raw) != nil {
		return errAddressRefused
	}
	return nil
}
