package edge

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Address returns the address of a request's client. If the connection does not come from a trusted proxy, this is the
// address of the connection. Otherwise it is the right-most address in X-Forwarded-For that is not a trusted proxy's,
// because entries to its left may be the client's inventions. If an entry is no address, the search ends at the proxy that
// added the entry. An IPv4 address has four bytes; the zero Addr means unknown.
func (e *Edge) Address(r *http.Request) netip.Addr {
	peer := parseAddress(r.RemoteAddr)
	for rest := strings.Join(r.Header["X-Forwarded-For"], ","); rest != "" && e.trusted(peer); {
		comma := strings.LastIndexByte(rest, ',')
		entry := strings.TrimSpace(rest[comma+1:])
		rest = rest[:max(comma, 0)]
		if entry == "" {
			continue
		}
		hop := parseAddress(entry)
		if !hop.IsValid() {
			return peer
		}
		peer = hop
	}
	return peer
}

func (e *Edge) trusted(a netip.Addr) bool {
	return slices.ContainsFunc(e.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// parseAddress reads an address with or without a port, and an IPv6 address with or without brackets.
func parseAddress(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	if n := len(s); n > 2 && s[0] == '[' && s[n-1] == ']' {
		s = s[1 : n-1]
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}
