package egress

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// The policy applies to the IP address when the connection is made, whatever was checked before.
func TestAddressesAtDialTime(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason       string
		addr         string
		public, open bool // whether the zero policy allows the address, and whether AllowPrivate allows it
	}{
		{"public", "8.8.8.8", true, true},
		{"public", "1.1.1.1", true, true},
		{"public", "93.184.215.14", true, true},
		{"public, before 10.0.0.0/8", "9.255.255.255", true, true},
		{"public, after 10.0.0.0/8", "11.0.0.0", true, true},
		{"public, after 172.16.0.0/12", "172.32.0.0", true, true},
		{"public, before 192.168.0.0/16", "192.167.255.255", true, true},
		{"public, after benchmarks", "198.20.0.0", true, true},
		{"public, before multicast", "223.255.255.255", true, true},
		{"public IPv6", "2606:4700:4700::1111", true, true},
		{"public IPv6, after IETF protocols", "2001:200::1", true, true},
		{"public IPv6, after 6to4", "2003::1", true, true},
		{"the machine itself", "127.0.0.1", false, true},
		{"the machine itself", "127.8.8.8", false, true},
		{"the machine itself", "::1", false, true},
		{"private", "10.0.0.1", false, true},
		{"private", "172.20.0.5", false, true},
		{"private", "192.168.1.1", false, true},
		{"carriers", "100.64.0.1", false, true},
		{"unique local", "fd00::1", false, true},
		{"unspecified", "0.0.0.0", false, false},
		{"unspecified", "::", false, false},
		{"this network", "0.255.255.255", false, false},
		{"link-local", "169.254.0.1", false, false},
		{"metadata", "169.254.169.254", false, false},
		{"metadata", "100.100.100.200", false, false},
		{"metadata", "168.63.129.16", false, false},
		{"metadata", "fd00:ec2::254", false, false},
		{"metadata", "fd20:ce::254", false, false},
		{"IETF protocols", "192.0.0.8", false, false},
		{"documentation", "192.0.2.255", false, false},
		{"documentation", "198.51.100.0", false, false},
		{"documentation", "203.0.113.1", false, false},
		{"documentation", "2001:db8:ffff::1", false, false},
		{"documentation", "3fff:fff::1", false, false},
		{"benchmarks", "198.19.0.1", false, false},
		{"benchmarks", "2001:2::1", false, false},
		{"multicast", "224.0.0.251", false, false},
		{"multicast", "239.1.1.1", false, false},
		{"multicast", "ff0e::1", false, false},
		{"reserved", "250.1.1.1", false, false},
		{"broadcast", "255.255.255.255", false, false},
		{"link-local", "fe80::1", false, false},
		{"link-local with a zone", "fe80::1%eth0", false, false},
		{"a public address with a zone", "2606:4700:4700::1111%eth0", false, false},
		{"loopback with a zone", "::1%lo", false, false},
		{"site-local", "fec0::1", false, false},
		{"NAT64 of loopback", "64:ff9b::7f00:1", false, false},
		{"NAT64 of a private address", "64:ff9b::a00:1", false, false},
		{"NAT64 of carriers", "64:ff9b::6440:1", false, false},
		{"NAT64 of link-local", "64:ff9b::a9fe:1", false, false},
		{"NAT64 of metadata", "64:ff9b::a9fe:a9fe", false, false},
		{"NAT64 of metadata that looks public", "64:ff9b::a83f:8110", false, false},
		{"NAT64 of documentation", "64:ff9b::c000:2ff", false, false},
		{"NAT64 of multicast", "64:ff9b::e000:fb", false, false},
		{"NAT64 of unspecified", "64:ff9b::", false, false},
		{"NAT64 of broadcast", "64:ff9b::ffff:ffff", false, false},
		{"NAT64 of a public address", "64:ff9b::808:808", true, true},
		{"NAT64 of a public address, before 10.0.0.0/8", "64:ff9b::9ff:ffff", true, true},
		{"NAT64 of a public address with a zone", "64:ff9b::808:808%eth0", false, false},
		{"before NAT64", "64:ff9a:ffff:ffff:ffff:ffff:808:808", false, false},
		{"after NAT64", "64:ff9b::1:808:808", false, false},
		{"NAT64 with a local prefix", "64:ff9b:1::7f00:1", false, false},
		{"NAT64 of a public address with a local prefix, whose form is the network's own", "64:ff9b:1::808:808", false, false},
		{"6to4 of loopback", "2002:7f00:1::1", false, false},
		{"6to4 of a public address", "2002:808:808::1", false, false},
		{"Teredo", "2001::1", false, false},
		{"IPv4-compatible", "::7f00:1", false, false},
		{"translated IPv4", "::ffff:0:7f00:1", false, false},
		{"mapped, where nobody has unmapped it", "::ffff:127.0.0.1", false, false},
		{"discard only", "100::1", false, false},
		{"segment routing", "5f00::1", false, false},
		{"nobody's", "4000::1", false, false},
		{"nobody's", "1fff::1", false, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			addr := netip.MustParseAddr(row.addr)
			require.Equal(t, !row.public, public.refused(addr), "%s: %s", row.reason, row.addr)
			require.Equal(t, !row.open, lab.refused(addr), "%s: %s with private addresses open", row.reason, row.addr)
			target := netip.AddrPortFrom(addr, 443).String()
			network := map[bool]string{true: "tcp4", false: "tcp6"}[addr.Is4()]
			for policy, allowed := range map[Policy]bool{public: row.public, lab: row.open} {
				err := policy.control(network, target, nil)
				if allowed {
					require.NoError(t, err, "%s: %s", row.reason, row.addr)
				} else {
					require.ErrorIs(t, err, errAddressRefused, "%s: %s", row.reason, row.addr)
				}
			}
		})
	}
	require.True(t, public.refused(netip.Addr{}), "no address at all")
	require.ErrorIs(t, lab.control("tcp", "shop.example.com:443", nil), errAddressRefused, "a name where an address must be")
}

// The tables differ only by our additional prefixes.
func TestTheTablesAgree(t *testing.T) {
	t.Parallel()
	for _, b := range blocks {
		first := b.prefix.Masked().Addr()
		require.True(t, public.refused(first), b.description)
	}
	for first := range 256 {
		for second := range 256 {
			addr := netip.AddrFrom4([4]byte{byte(first), byte(second), 129, 16})
			if secondGuard.SafeAddr(addr) != nil {
				require.True(t, public.refused(addr), addr)
			} else if public.refused(addr) {
				require.Equal(t, "168.63.129.16", addr.String(), "the only addition of ours")
			}
			addr = netip.AddrFrom16([16]byte{byte(first), byte(second), 15: 1})
			require.Equal(t, secondGuard.SafeAddr(addr) != nil, public.refused(addr), addr)
		}
	}
}

func TestANameThatLeadsInsideNeverGetsAConnection(t *testing.T) {
	t.Parallel()
	inside := listen(t, func(net.Conn) {})
	for _, row := range []struct {
		reason string
		each   [][]netip.Addr
	}{
		{"loopback at once", [][]netip.Addr{addrs("127.0.0.1")}},
		{"public when it was registered, loopback when it is dialled", [][]netip.Addr{addrs("93.184.215.14"), addrs("127.0.0.1")}},
		{"public twice, loopback after", [][]netip.Addr{addrs("93.184.215.14"), addrs("93.184.215.14"), addrs("127.0.0.1")}},
		{"loopback behind a public address", [][]netip.Addr{addrs("93.184.215.14", "127.0.0.1")}},
		{"loopback before a public address", [][]netip.Addr{addrs("127.0.0.1", "93.184.215.14")}},
		{"loopback behind more addresses than are tried", [][]netip.Addr{append(addrs("1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4",
			"1.1.1.5", "1.1.1.6", "1.1.1.7", "1.1.1.8"), addrs("127.0.0.1")...)}},
		{"loopback in IPv6's form", [][]netip.Addr{addrs("::ffff:127.0.0.1")}},
		{"loopback of IPv6", [][]netip.Addr{addrs("::1")}},
		{"loopback through NAT64", [][]netip.Addr{addrs("64:ff9b::7f00:1")}},
		{"unspecified", [][]netip.Addr{addrs("0.0.0.0")}},
		{"an interface of this machine", [][]netip.Addr{addrs("fe80::1%lo")}},
		{"no address that is one", [][]netip.Addr{{netip.Addr{}}}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			resolver := answer(row.each...)
			// Earlier look-ups, as when the URL was checked, returned public addresses.
			for range len(row.each) - 1 {
				_, err := resolver.LookupNetIP(t.Context(), "ip", "shop.example.com")
				require.NoError(t, err)
			}
			client := newClient(t, func(o *Options) { o.Policy = public; o.Resolver = resolver })
			target := inside.at("shop.example.com")
			require.NoError(t, CheckURL(target, public))
			for range 3 {
				result := client.Post(t.Context(), target, headers(), nil)
				require.Equal(t, "address refused", result.Problem)
				require.Zero(t, result.Status)
			}
		})
	}
	require.Zero(t, inside.accepts.Load(), "nothing ever connected")
}

func TestAnAddressInTheURLIsRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	inside := listen(t, func(net.Conn) {})
	client := newClient(t, func(o *Options) { o.Policy = public; o.Resolver = answer() })
	for _, host := range []string{"127.0.0.1", "127.1", "2130706433", "localhost", "[::ffff:127.0.0.1]", "receiver"} {
		result := client.Post(t.Context(), inside.at(host), headers(), nil)
		require.Equal(t, ProblemAddress, result.Problem, host)
	}
	require.Zero(t, inside.accepts.Load())
}

func TestPostKeepsTheSearchListOut(t *testing.T) {
	t.Parallel()
	resolver := answer(addrs("127.0.0.1"))
	client := newClient(t, func(o *Options) { o.Policy = public; o.Resolver = resolver })
	client.Post(t.Context(), "https://Shop.Example.com/", headers(), nil)
	require.Equal(t, []string{"shop.example.com."}, resolver.asked, "the name is complete as it is")
}

func TestPostTriesEachAddressInOrder(t *testing.T) {
	t.Parallel()
	r := listenTLS(t, good().server, replies(noContent))
	// Nothing listens on the first two addresses, and on some systems connecting to such an address hangs.
	client := newClient(t, func(o *Options) {
		o.Resolver = answer(addrs("127.0.0.2", "::1", "::ffff:127.0.0.1"))
		o.Timeout = crowded
	})
	result := client.Post(t.Context(), r.at("shop.example.com"), headers(), []byte("{}"))
	require.Equal(t, http.StatusNoContent, result.Status, result.Problem)
}

func TestPostThroughTheOperatorsProxy(t *testing.T) {
	t.Parallel()
	r := listenTLS(t, good().server, replies(noContent))
	heads := make(chan string, 10)
	connect := func(conn net.Conn) {
		head, _ := readRequest(conn)
		heads <- head
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		onward, err := net.Dial("tcp", r.Addr().String())
		if err != nil {
			return
		}
		defer func() { _ = onward.Close() }()
		go func() {
			_, _ = io.Copy(onward, conn)
			_ = onward.Close()
		}()
		_, _ = io.Copy(conn, onward)
	}
	for scheme, proxy := range map[string]*receiver{"http": listen(t, connect), "https": listenTLS(t, good().server, connect)} {
		resolver := answer()
		client := newClient(t, func(o *Options) {
			o.Policy = public // the policy refuses private addresses, but it does not apply to the proxy
			o.Resolver = resolver
			o.Proxy = must(url.Parse(scheme + "://" + proxy.Addr().String()))
		})
		result := client.Post(t.Context(), "https://shop.example.com/webhooks", headers(), []byte("{}"))
		require.Equal(t, http.StatusNoContent, result.Status, "%s: %s", scheme, result.Problem)
		require.Contains(t, <-heads, "CONNECT shop.example.com:443 HTTP/1.1\r\n", "the proxy resolves")
		require.Empty(t, resolver.asked)

		for _, target := range []string{"https://127.0.0.1/", "https://169.254.169.254/", "https://metadata.google.internal/"} {
			require.Equal(t, ProblemAddress, client.Post(t.Context(), target, headers(), nil).Problem, "the text's rules hold")
		}
		require.EqualValues(t, 1, proxy.accepts.Load(), scheme)
	}
	require.Nil(t, newClient(t, nil).transport.Proxy, "and none comes from the environment")
}
