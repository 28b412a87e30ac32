package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	serverlimit "go.storefront.example/server/limit"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/worker"
)

// Whether the network was given in IPv4 or in IPv6 form.
func TestNetworksOfIPv4InIPv6sForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.0/8":          "10.0.0.0/8",
		"10.1.2.3":            "10.1.2.3/32",
		"::ffff:10.1.2.3":     "10.1.2.3/32",
		"::ffff:10.1.2.3/104": "10.0.0.0/8",
		"2001:db8::1":         "2001:db8::1/128",
		"::/0":                "::/0",
	} {
		var n network
		require.NoError(t, n.UnmarshalText([]byte(text)))
		require.Equal(t, netip.MustParsePrefix(want), n.prefix, text)
	}
}

// A command uses the database's clock, even if the machine's is five hours ahead.
func TestHowLongAgoIsByTheClockOfTheDatabaseOrServer(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Now().Add(-5 * time.Hour) }
	d := dbtest.New(t, dbtest.SQLite, db.Config{Clock: now})
	o := admin.New(d, admin.Options{})
	_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	_, err = o.CreateCustomer(shoptest.In(t, t.Context(), o, "s"), &storefrontv1.CreateCustomerRequest{Name: "Awa", Email: new("awa@example.com")})
	require.NoError(t, err)

	var since instant
	require.NoError(t, since.UnmarshalText([]byte("1h")))
	require.NoError(t, since.resolve(t.Context(), o, nil))
	require.WithinDuration(t, now().Add(-time.Hour), since.at, 10*time.Minute)
	first := since.at
	require.NoError(t, since.resolve(t.Context(), o, nil))
	require.Equal(t, first, since.at, "a list's pages have one beginning")

	mux := http.NewServeMux()
	for path, handler := range rpc.Services(o, rpc.Config{
		Gate: rpc.NewGate(remoteToken, ""), Logger: slog.New(slog.DiscardHandler), Unreachable: db.IsUnreachable, Now: d.Now,
		Slots: serverlimit.NewSlots(4, 2),
	}) {
		mux.Handle(path, handler)
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	var out, errs bytes.Buffer
	noEnv := func(string) (string, bool) { return "", false }
	require.Equal(t, 0, run(t.Context(), []string{
		"activity", "list", "--since", "1h", "--admin-url", server.URL, "--admin-token", remoteToken,
	}, noEnv, strings.NewReader(""), &out, &errs), &errs)
	require.Contains(t, out.String(), "customer.created", "the server's clock decides")
}

func TestTheEarliestTimeIsNotTakenForNow(t *testing.T) {
	t.Parallel()
	var since instant
	require.NoError(t, since.UnmarshalText([]byte("0001-01-01T00:00:00Z")))
	require.NoError(t, since.resolve(t.Context(), nil, nil))
	require.Equal(t, time.Time{}, since.at)
}

func TestTheWorkersDefaultDelaysAreThoseOfItsPackage(t *testing.T) {
	t.Parallel()
	var c cli
	parser, err := newParser(&c, kong.Bind(&settings{env: func(string) (string, bool) { return "", false }}))
	require.NoError(t, err)
	_, err = parser.Parse([]string{"worker"})
	require.NoError(t, err)
	require.Equal(t, worker.DefaultRetryDelays(), c.Worker.RetryDelays.waits)
}

// emptyable has the flags, by command, whose empty value clears a field. All others refuse it.
var emptyable = map[string][]string{
	"webhook create":  {"description"},
	"webhook update":  {"description"},
	"store create":    {"buckets", "description", "phone", "public-url", "social", "support-email", "unavailable-types", "whatsapp-phone"},
	"store update":    {"description", "phone", "social", "support-email", "unavailable-types", "whatsapp-phone"},
	"product create":  {"cover-url", "description", "summary"},
	"product update":  {"compare-at", "cover-url", "description", "summary"},
	"product list":    {"q"},
	"customer list":   {"q"},
	"customer create": {"name"},
	"customer update": {"email", "name", "phone"},
	"order create":    {"customer-name", "note"},
	"link create":     {"cover-url", "description", "expires-at", "max-payments", "thank-you-message"},
	"link update":     {"amount", "cover-url", "description", "expires-at", "max-payments", "min-amount", "thank-you-message"},
	"server": {"buckets", "api-url", "brand-color", "brand-logo", "brand-name", "frame-ancestors", "public-url", "sign-in-url",
		"trusted-proxies"},
	"worker": {"admin-addr"},
	"doctor": {"buckets"},
	"import": {"buckets"},
}

func TestEmptyValuesAreNeverIgnored(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&cli{}, kong.Bind(&settings{}))
	require.NoError(t, err)
	seen := 0
	for _, path := range levels(parser.Model.Node, nil) {
		node := parser.Model.Node
		for _, name := range path {
			node = childNamed(node, name)
		}
		if len(node.Children) > 0 {
			continue
		}
		command := strings.Join(path, " ")
		expected := append(clearable[:len(clearable):len(clearable)], emptyable[command]...)
		for _, group := range node.AllFlags(false) {
			for _, f := range group {
				if f.Name == "help" {
					continue
				}
				seen++
				k, err := kong.Trace(parser, append(path[:len(path):len(path)], "--"+f.Name+"="))
				require.NoError(t, err)
				refused := k.Error
				if refused == nil {
					var given map[string]bool
					given, refused = explicit(k)
					require.True(t, refused != nil || given[f.Name], "%s --%s", command, f.Name)
				}
				if slices.Contains(expected, f.Name) {
					require.NoError(t, refused, "%s --%s clears", command, f.Name)
				} else {
					require.Error(t, refused, "%s --%s is refused", command, f.Name)
				}
			}
		}
	}
	require.Greater(t, seen, 200)
}

// The nearest time in length, not in letters.
func TestTheNearestTimeIsProposed(t *testing.T) {
	t.Parallel()
	known := []string{"30d", "90d", "1y", "never"}
	for typed, want := range map[string]string{"1d": "30d", "7d": "30d", "2w": "30d", "24h": "30d", "100d": "90d", "2y": "1y", "365d": "1y",
		"90": "90d", "forever": "never", "nver": "never"} {
		text := `--expires must be one of "` + strings.Join(known, `","`) + `" but got "` + typed + `"`
		require.Equal(t, text+"; did you mean \""+want+"\"?", suggestValue(text))
	}
}
