package edge

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

func theMethods(t testing.TB) map[string]*method {
	t.Helper()
	all := map[string]*method{}
	for _, name := range []string{
		storefrontv1connect.StoreServiceName, storefrontv1connect.ProductServiceName, storefrontv1connect.OrderServiceName,
		storefrontv1connect.CustomerServiceName, storefrontv1connect.PaymentLinkServiceName,
	} {
		require.NoError(t, readMethods(Service{Path: "/" + name + "/"}, all))
	}
	return all
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"page=2&pageSize=10&q=a%20b&status=DRAFT&type=COURSE", "page=1&page=2", "%zz=1", "q=%ff", "q=%00", "page_size=1", "=", "&&",
		"q", "q=;x", "page=1e2",
		"page=9223372036854775808", "status=1", "a=1&b=2&a=3", "q=%ed%a0%80", "%70age=3",
	} {
		f.Add(seed)
	}
	m := theMethods(f)[storefrontv1connect.ProductServiceListProductsProcedure]
	f.Fuzz(func(t *testing.T, query string) {
		message := &storefrontv1.ListProductsRequest{}
		refused := m.decodeQuery(query, message)
		names := map[string]bool{}
		for _, field := range refused {
			require.NotEmpty(t, field.Message)
			require.False(t, names[field.Name], "a field is listed once")
			names[field.Name] = true
		}
		require.True(t, utf8.ValidString(message.GetQ()))
		if len(refused) > 0 {
			return
		}
		values, err := url.ParseQuery(strings.ReplaceAll(query, ";", "%3B"))
		require.NoError(t, err, "what net/url cannot read is refused")
		for name, value := range values {
			require.Len(t, value, 1)
			fd := m.parameters[name]
			require.NotNil(t, fd)
			require.True(t, message.ProtoReflect().Has(fd), "what is not refused is set")
		}
		require.Equal(t, values.Get("q"), message.GetQ())
	})
}

// Many callers make this mistake in date-times.
func TestAPlusThatIsNotEncodedIsExplained(t *testing.T) {
	t.Parallel()
	m := theMethods(t)[storefrontv1connect.OrderServiceListOrdersProcedure]
	const hint = "; a + in a query means a space, and must be written %2B"
	for query, explained := range map[string]bool{
		"from=2026-10-01T12:00:00+02:00": true, "to=2026-10-01T12:00:00.5+00:00": true, "from=2026-10-01T12:00:00%20+02:00": false,
		"from=2026-10-01+12:00:00": false, "from=yesterday": false, "page=+1": false, "from=2026-10-01T12:00:00%2": false,
	} {
		refused := m.decodeQuery(query, &storefrontv1.ListOrdersRequest{})
		require.Len(t, refused, 1, query)
		require.Equal(t, explained, strings.HasSuffix(refused[0].Message, hint), "%s: %s", query, refused[0].Message)
	}
	refused := m.decodeQuery("from=2026-10-01T12:00:00%2B02:00", &storefrontv1.ListOrdersRequest{})
	require.Empty(t, refused)
}

func TestQueryOfManyNames(t *testing.T) {
	t.Parallel()
	m := theMethods(t)[storefrontv1connect.ProductServiceListProductsProcedure]
	var query strings.Builder
	for i := range 20_000 {
		query.WriteString("&" + string(rune('a'+i%26)) + strings.Repeat("x", i%40))
	}
	refused := m.decodeQuery(query.String(), &storefrontv1.ListProductsRequest{})
	require.LessOrEqual(t, len(refused), maxRefused)
	require.Greater(t, len(refused), 500)
}

func TestMethodsAreRead(t *testing.T) {
	t.Parallel()
	all := theMethods(t)
	update := all[storefrontv1connect.PaymentLinkServiceUpdatePaymentLinkProcedure]
	require.Equal(t, "payment_links:write", update.scope)
	require.Equal(t, "PATCH /v1/payment-links/{id}", update.verb+" "+update.template)
	require.True(t, update.hasBody)
	require.Empty(t, update.parameters, "what has a body has no parameters")
	enable := all[storefrontv1connect.PaymentLinkServiceEnablePaymentLinkProcedure]
	require.False(t, enable.hasBody)
	require.Empty(t, enable.parameters, "the path's variable is no parameter")
	require.Len(t, all[storefrontv1connect.OrderServiceListOrdersProcedure].parameters, 5)
	require.ErrorContains(t, readMethods(Service{Path: "/grpc.none.Service/"}, all), "grpc.none.Service")
	require.ErrorContains(t, readMethods(Service{Path: "/storefront.v1.Product/"}, all), "not a service")
}

func TestAddress(t *testing.T) {
	t.Parallel()
	e := &Edge{config: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("fd00::/8")}}}
	for _, row := range []struct {
		reason, peer string
		forwarded    []string
		address      string
	}{
		{"the peer", "192.0.2.1:1234", nil, "192.0.2.1"},
		{"an IPv6 peer", "[2001:db8::1]:1234", nil, "2001:db8::1"},
		{"a zone is no part of who it is", "[fe80::1%eth0]:1234", nil, "fe80::1"},
		{"an IPv4 peer on an IPv6 socket", "[::ffff:192.0.2.1]:1234", nil, "192.0.2.1"},
		{"a peer that is no proxy is not believed", "192.0.2.1:1", []string{"198.51.100.1"}, "192.0.2.1"},
		{"a proxy is believed", "10.0.0.1:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"a proxy on an IPv6 socket is believed", "[::ffff:10.0.0.1]:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"what the client claims itself is not", "10.0.0.1:1", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		{"nor in a header of its own", "10.0.0.1:1", []string{"203.0.113.9", "198.51.100.1"}, "198.51.100.1"},
		{"a chain of proxies", "10.0.0.1:1", []string{"198.51.100.1, 10.0.0.2", "fd00::3"}, "198.51.100.1"},
		{"nothing but proxies", "10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"a proxy without the header", "10.0.0.1:1", nil, "10.0.0.1"},
		{"an entry that is no address", "10.0.0.1:1", []string{"198.51.100.1, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"entries with ports and brackets", "10.0.0.1:1", []string{"198.51.100.1:80, [fd00::2]:443,[fd00::3] ,, "}, "198.51.100.1"},
		{"a socket without an address", "@", nil, ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			got := e.Address(&http.Request{RemoteAddr: row.peer, Header: http.Header{"X-Forwarded-For": row.forwarded}})
			if row.address == "" {
				require.False(t, got.IsValid())
				return
			}
			require.Equal(t, netip.MustParseAddr(row.address), got)
		})
	}
}
