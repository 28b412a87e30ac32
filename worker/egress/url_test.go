package egress

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	public = Policy{}
	lab    = Policy{AllowPrivate: true}
	local  = Policy{AllowPrivate: true, AllowHTTP: true}
)

func TestCheckURLAccepts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		text   string
		policy Policy
		used   string // the URL that is used, "" for the text itself
	}{
		{"a public name", "https://shop.example.com/webhooks", public, ""},
		{"no path", "https://shop.example.com", public, ""},
		{"a port", "https://shop.example.com:8443/x", public, ""},
		{"the scheme's own port is not sent", "https://shop.example.com:443/x", public, "https://shop.example.com/x"},
		{"a port with zeroes in front", "https://shop.example.com:08443/", public, "https://shop.example.com:8443/"},
		{"a colon without a port", "https://shop.example.com:/", public, "https://shop.example.com/"},
		{"a query, of any characters", "https://shop.example.com/?a=b@c:d&e=%2F", public, ""},
		{"characters that no query may have", "https://shop.example.com/x?q=é|{x}^`\"<>&ü", public,
			"https://shop.example.com/x?q=%C3%A9%7C%7Bx%7D%5E%60%22%3C%3E&%C3%BC"},
		{"a query without a path", "https://shop.example.com?q=é", public, "https://shop.example.com?q=%C3%A9"},
		{"characters that no path may have, beside an escape", "https://shop.example.com/é{a%2Fb}", public,
			"https://shop.example.com/%C3%A9%7Ba%2Fb%7D"},
		{"an @ in the path is no user", "https://shop.example.com/@shop", public, ""},
		{"upper case means the same", "HTTPS://Shop.EXAMPLE.com/Path", public, "https://shop.example.com/Path"},
		{"a trailing dot means the same", "https://shop.example.com./", public, "https://shop.example.com/"},
		{"a name of another script", "https://bücher.example/", public, "https://xn--bcher-kva.example/"},
		{"the same in ASCII", "https://xn--bcher-kva.example/", public, ""},
		{"full-width letters are letters", "https://ｓｈｏｐ.example.com/", public, "https://shop.example.com/"},
		{"a label with an underscore", "https://my_shop.example.com/", public, ""},
		{"a label of digits before the last", "https://1.2.3.example/", public, ""},
		{"a name that only ends like a local one", "https://notlocalhost.example-internal.com/", public, ""},
		{"a public IPv4 address", "https://8.8.8.8/", public, ""},
		{"a public IPv6 address", "https://[2606:4700:4700::1111]:8443/x", public, ""},
		{"one address, in full", "https://[2606:4700:4700:0:0:0:0:1111]/", public, "https://[2606:4700:4700::1111]/"},
		{"a neighbour of 172.16.0.0/12", "https://172.32.0.1/", public, ""},
		{"a neighbour of 100.64.0.0/10", "https://100.128.0.1/", public, ""},
		{"2048 bytes", "https://shop.example.com/" + strings.Repeat("x", 2048-25), public, ""},
		{"loopback, where it is open", "https://127.0.0.1:8443/", lab, ""},
		{"loopback of IPv6, where it is open", "https://[::1]/", lab, ""},
		{"a private address, where it is open", "https://192.168.1.20/", lab, ""},
		{"a unique local address, where it is open", "https://[fd12::1]/", lab, ""},
		{"a local name, where it is open", "https://localhost:3000/", lab, ""},
		{"a single label, where it is open", "https://receiver/", lab, ""},
		{"plain http, where it is open", "http://127.0.0.1:3000/", local, ""},
		{"its own port", "http://localhost:80/", local, "http://localhost/"},
		{"443 is not http's own port", "http://localhost:443/", local, ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			require.NoError(t, CheckURL(row.text, row.policy))
			u, refusal := row.policy.parse(row.text)
			require.Nil(t, refusal)
			if row.used == "" {
				row.used = row.text
			}
			require.Equal(t, row.used, u.String())
		})
	}
}

func TestCheckURLRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		host   string
		want   *URLError
	}{
		{"loopback", "127.0.0.1", errURLAddress},
		{"loopback, further on", "127.255.255.254", errURLAddress},
		{"private", "10.1.2.3", errURLAddress},
		{"private", "172.16.0.1", errURLAddress},
		{"the last private one of 172.16.0.0/12", "172.31.255.255", errURLAddress},
		{"private", "192.168.0.1", errURLAddress},
		{"shared by carriers", "100.64.0.1", errURLAddress},
		{"the last one shared by carriers", "100.127.255.255", errURLAddress},
		{"link-local", "169.254.1.1", errURLAddress},
		{"metadata of most clouds", "169.254.169.254", errURLAddress},
		{"metadata of Alibaba Cloud", "100.100.100.200", errURLAddress},
		{"Azure's host agent", "168.63.129.16", errURLAddress},
		{"unspecified, which systems take for loopback", "0.0.0.0", errURLAddress},
		{"this network", "0.1.2.3", errURLAddress},
		{"IETF protocols, Oracle's metadata", "192.0.0.192", errURLAddress},
		{"documentation 1", "192.0.2.1", errURLAddress},
		{"documentation 2", "198.51.100.7", errURLAddress},
		{"documentation 3", "203.0.113.255", errURLAddress},
		{"benchmarks", "198.18.0.1", errURLAddress},
		{"benchmarks, second half", "198.19.255.255", errURLAddress},
		{"relays of 6to4", "192.88.99.1", errURLAddress},
		{"AS112", "192.31.196.1", errURLAddress},
		{"AS112", "192.175.48.1", errURLAddress},
		{"multicast tunnels", "192.52.193.1", errURLAddress},
		{"multicast", "224.0.0.1", errURLAddress},
		{"multicast, end", "239.255.255.255", errURLAddress},
		{"reserved", "240.0.0.1", errURLAddress},
		{"broadcast", "255.255.255.255", errURLAddress},
		{"with a port", "127.0.0.1:8443", errURLAddress},
		{"with a trailing dot", "127.0.0.1.", errURLAddress},
		{"in full-width digits", "１２７.０.０.１", errURLAddress},
		{"in circled digits", "①②⑦.⓪.⓪.①", errURLAddress},
		{"with ideographic full stops", "127。0。0。1", errURLAddress},
		{"in mathematical digits", "𝟏𝟐𝟕.𝟎.𝟎.𝟏", errURLAddress},
		{"one decimal number", "2130706433", errURLIPv4},
		{"one hexadecimal number", "0x7f000001", errURLIPv4},
		{"one octal number", "017700000001", errURLIPv4},
		{"a number beyond 32 bits", "4294967297", errURLIPv4},
		{"two parts", "127.1", errURLIPv4},
		{"three parts", "127.0.1", errURLIPv4},
		{"octal parts", "0177.0.0.1", errURLIPv4},
		{"zeroes in front", "127.000.000.001", errURLIPv4},
		{"hexadecimal parts", "0x7f.0x0.0x0.0x1", errURLIPv4},
		{"hexadecimal and short", "0x7f.1", errURLIPv4},
		{"upper-case hexadecimal", "0X7F.1", errURLIPv4},
		{"an empty hexadecimal number", "127.0.0.0x", errURLIPv4},
		{"five parts", "127.0.0.1.1", errURLIPv4},
		{"a part beyond a byte", "256.0.0.1", errURLIPv4},
		{"a name that ends in a number", "shop.example.1", errURLIPv4},
		{"loopback", "[::1]", errURLAddress},
		{"loopback, in full", "[0:0:0:0:0:0:0:1]", errURLAddress},
		{"unspecified", "[::]", errURLAddress},
		{"mapped loopback", "[::ffff:127.0.0.1]", errURLAddress},
		{"mapped loopback in hex", "[::ffff:7f00:1]", errURLAddress},
		{"mapped metadata", "[::ffff:169.254.169.254]", errURLAddress},
		{"mapped and public: no honest URL has this form", "[::ffff:8.8.8.8]", errURLAddress},
		{"IPv4-compatible loopback", "[::127.0.0.1]", errURLAddress},
		{"translated, RFC 2765", "[::ffff:0:127.0.0.1]", errURLAddress},
		{"NAT64 of loopback", "[64:ff9b::127.0.0.1]", errURLAddress},
		{"NAT64 of metadata, in hex", "[64:ff9b::a9fe:a9fe]", errURLAddress},
		{"NAT64 with a local prefix", "[64:ff9b:1::10.0.0.1]", errURLAddress},
		{"6to4 of loopback", "[2002:7f00:1::]", errURLAddress},
		{"6to4 of a private address", "[2002:c0a8:101::1]", errURLAddress},
		{"Teredo", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]", errURLAddress},
		{"ORCHIDv2", "[2001:20::1]", errURLAddress},
		{"benchmarks of IPv6", "[2001:2::1]", errURLAddress},
		{"unique local", "[fd12:3456:789a::1]", errURLAddress},
		{"unique local, the other half", "[fc00::1]", errURLAddress},
		{"metadata of AWS", "[fd00:ec2::254]", errURLAddress},
		{"link-local of IPv6", "[fe80::1]", errURLAddress},
		{"site-local", "[fec0::1]", errURLAddress},
		{"documentation of IPv6", "[2001:db8::1]", errURLAddress},
		{"the newer documentation of IPv6", "[3fff::1]", errURLAddress},
		{"multicast of IPv6", "[ff02::1]", errURLAddress},
		{"discard only", "[100::1]", errURLAddress},
		{"segment routing", "[5f00::1]", errURLAddress},
		{"AS112 of IPv6", "[2620:4f:8000::1]", errURLAddress},
		{"outside what is given to anybody", "[4000::1]", errURLAddress},
		{"a zone", "[fe80::1%25eth0]", errURLIPv6},
		{"a zone at a public address", "[2606:4700:4700::1111%25eth0]", errURLIPv6},
		{"IPv4 in brackets", "[127.0.0.1]", errURLIPv6},
		{"a name in brackets", "[shop.example.com]", errURLIPv6},
		{"IPv6 without brackets", "::1", errURLIPv6},
		{"an unclosed bracket", "[::1", errURLIPv6},
		{"localhost", "localhost", errURLLocal},
		{"localhost in upper case", "LOCALHOST", errURLLocal},
		{"localhost with a dot", "localhost.", errURLLocal},
		{"localhost in full width", "ｌｏｃａｌｈｏｓｔ", errURLLocal},
		{"below localhost", "shop.localhost", errURLLocal},
		{"below internal", "metadata.google.internal", errURLLocal},
		{"below local", "printer.local", errURLLocal},
		{"below local, with a port", "printer.local.:8443", errURLLocal},
		{"what hosts files call loopback", "localhost.localdomain", errURLLocal},
		{"a home network", "nas.home.arpa", errURLLocal},
		{"a single label", "intranet", errURLSingle},
		{"an escaped host", "%31%32%37.0.0.1", errURLHost},
		{"an escaped letter", "shop%2eexample.com", errURLHost},
		{"an empty label", "shop..example.com", errURLHost},
		{"two trailing dots", "shop.example.com..", errURLHost},
		{"a dot alone", ".", errURLHost},
		{"no host", "", errURLHost},
		{"a port alone", ":443", errURLHost},
		{"a label that ends with a hyphen", "shop-.example.com", errURLHost},
		{"a label of 64 characters", strings.Repeat("a", 64) + ".example.com", errURLHost},
		{"a name of 254 characters", strings.Repeat("abcde.", 41) + "examples", errURLHost},
		{"characters that no name has", "shop!.example.com", errURLHost},
		{"punycode that is none", "xn--a.example.com", errURLHost},
		{"port 0", "shop.example.com:0", errURLPort},
		{"port 65536", "shop.example.com:65536", errURLPort},
		{"a port far out", "shop.example.com:99999999999999999999", errURLPort},
		{"a port with a sign", "shop.example.com:+443", errURLPort},
		{"a port that is a word", "shop.example.com:https", errURLPort},
		{"a user name", "user@shop.example.com", errURLUser},
		{"a password", "user:secret@shop.example.com", errURLUser},
		{"an empty user name", "@shop.example.com", errURLUser},
		{"a user name that looks like a host", "shop.example.com@127.0.0.1", errURLUser},
		{"an escaped user name", "us%40er@shop.example.com", errURLUser},
		{"a backslash, which browsers take for a slash", `shop.example.com\@127.0.0.1`, errURLCharacter},
		{"a space", "shop.example.com /", errURLCharacter},
		{"a tab", "shop\t.example.com", errURLCharacter},
		{"a line break, which some cut out", "127.0.\n0.1", errURLCharacter},
		{"U+0000", "shop.example.com\x00", errURLCharacter},
		{"a soft hyphen", "local\u00adhost", errURLCharacter},
		{"a space without width", "local\u200bhost", errURLCharacter},
		{"text that is no UTF-8", "shop\xff.example.com", errURLCharacter},
		{"a fragment", "shop.example.com#x", errURLFragment},
		{"a fragment that hides a host", "shop.example.com#@127.0.0.1", errURLFragment},
	} {
		t.Run(row.reason, func(t *testing.T) {
			text := "https://" + row.host + "/webhooks"
			err := CheckURL(text, public)
			require.Equal(t, error(row.want), err, "%s: %s", row.reason, text)
			require.NotContains(t, err.Error(), "secret", "a URL is never repeated")
		})
	}
	for _, row := range []struct {
		reason string
		text   string
		policy Policy
		want   *URLError
	}{
		{"nothing", "", public, errURLLength},
		{"2049 bytes", "https://shop.example.com/" + strings.Repeat("x", 2049-25), public, errURLLength},
		{"plain http", "http://shop.example.com/", public, errURLScheme},
		{"plain http, where private addresses are open", "http://127.0.0.1/", lab, errURLPrivate},
		{"no scheme", "shop.example.com", public, errURLScheme},
		{"a scheme alone", "https:", public, errURLScheme},
		{"one slash", "https:/shop.example.com", public, errURLScheme},
		{"another scheme", "ftp://shop.example.com/", public, errURLScheme},
		{"another scheme, where http is open", "file:///etc/passwd", local, errURLSchemes},
		{"a space in front", " https://shop.example.com/", public, errURLCharacter},
		{"a wrong escape", "https://shop.example.com/%zz", public, errURLInvalid},
		{"metadata stays closed", "https://169.254.169.254/", lab, errURLAddress},
		{"mapped loopback stays closed", "https://[::ffff:127.0.0.1]/", lab, errURLAddress},
		{"metadata within unique local stays closed", "https://[fd00:ec2::254]/", lab, errURLAddress},
		{"metadata within the carriers' stays closed", "https://100.100.100.200/", lab, errURLAddress},
		{"unspecified stays closed", "https://0.0.0.0/", lab, errURLAddress},
		{"spellings stay closed", "https://127.1/", lab, errURLIPv4},
		{"a user stays closed", "http://user@localhost/", local, errURLUser},
	} {
		t.Run(row.reason, func(t *testing.T) {
			require.Equal(t, error(row.want), CheckURL(row.text, row.policy), "%s: %s", row.reason, row.text)
		})
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{
		"https://shop.example.com/webhooks?x=1", "https://8.8.8.8:8443/", "https://[2606:4700:4700::1111]/",
		"https://127.0.0.1", "https://0x7f.1/", "https://①②⑦.⓪.⓪.①/", "https://[::ffff:127.0.0.1]/",
		"https://[64:ff9b::7f00:1]/", "https://bücher.example/", "https://a:b@c/", "https://%31/", "HTTPS://A.B.:0443/",
		"https://[fe80::1%25eth0]/", "https://localhost./", "http://a.b/", "", "https://",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := CheckURL(text, public)
		if err != nil {
			var refusal *URLError
			require.True(t, errors.As(err, &refusal))
			require.NotEmpty(t, refusal.Reason)
			return
		}
		read, err := url.Parse(text)
		require.NoError(t, err, "it can be parsed again later")
		require.Nil(t, read.User)
		used, refusal := public.parse(text)
		require.Nil(t, refusal)
		require.Equal(t, "https", used.Scheme)
		require.NotRegexp(t, `[^!-~]|["<>^\x60{|}]`, used.String())
		require.Equal(t, used.RequestURI(), func() string { u, _ := public.parse(EscapeURL(text)); return u.RequestURI() }(),
			"what is stored is what is sent")
		again, refusal := public.parse(used.String())
		if len(used.String()) <= MaxURLBytes { // escapes may have made the URL too long to be allowed
			require.Nil(t, refusal, "what is used is itself allowed")
			require.Equal(t, used.Host, again.Host)
		}
		addr, err := netip.ParseAddr(used.Hostname())
		if err != nil {
			require.True(t, isDNSName(used.Hostname()))
			require.Contains(t, used.Hostname(), ".")
			return
		}
		require.True(t, addr.IsGlobalUnicast() && !addr.IsPrivate() && !addr.Is4In6() && addr.Zone() == "", "%s leads to %s", text,
			addr)
		require.NoError(t, secondGuard.SafeAddr(addr), "the other table agrees")
	})
}

func BenchmarkCheckURL(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = CheckURL("https://shop.example.com/webhooks/storefront?x=1", public)
	}
}
