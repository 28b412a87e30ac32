package edge

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Address is that of the connection or, if this is a trusted proxy's, the right-most one in X-Forwarded-For that is not:
// entries to its left may be the client's inventions. The search ends at an entry that is no address. An IPv4 address has
// four bytes; the zero Addr means unknown.
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

// parseAddress takes a port, and brackets around an IPv6 address, or none.
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
