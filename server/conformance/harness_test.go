package conformance_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/webhooks"
)

// opening is 30 seconds after a full minute, so that rate-limit headers differ from the default ones.
var opening = time.Date(2026, time.October, 1, 12, 0, 30, 0, time.UTC)

// clock advances by step each time it is read. Goroutines may share it.
type clock struct {
	milliseconds atomic.Int64
	step         time.Duration
}

func newClock(step time.Duration) *clock {
	c := &clock{step: step}
	c.milliseconds.Store(opening.UnixMilli())
	return c
}

func (c *clock) now() time.Time { return c.advance(c.step) }

func (c *clock) advance(d time.Duration) time.Time {
	return time.UnixMilli(c.milliseconds.Add(d.Milliseconds())).UTC()
}

// rules are the methods that /v1, the admin services and the dashboard call.
type rules struct {
	*shop.Shop
	*webhooks.Webhooks
}

func newRules(d *db.DB, o admin.Options) rules {
	return rules{shop.New(d, o.Shop), webhooks.New(d, o.Webhooks)}
}

type installation struct {
	rules
	database    string
	db          *db.DB
	databaseURL string
	url         string
	admin       string
	// clock is that of the database. gate is that of the rate limits and of the expiry of keys.
	clock, gate *clock
	plain, h2c  *http.Client
	log         *dbtest.Log
	cable       *cable // nil unless the test cuts the connection to the database

	mu   sync.Mutex
	keys []string
}

type settings struct {
	options admin.Options
	step    time.Duration // by how much the database's clock advances at each reading
	observe func(query string)
	// url is the database, which may be unreachable; empty means a new one.
	url string
	// token is the operator's token; without one there are no admin services.
	token string
	// timeout limits a request, and half of it a wait for a lock. 0 means the defaults.
	timeout time.Duration
	// realTime makes the clocks show the real time, as in production.
	realTime bool
}

// newService starts a server on a free port until the test ends.
func newService(t *testing.T, database string, o settings) *installation {
	t.Helper()
	s := &installation{database: database, clock: newClock(o.step), gate: newClock(0), log: &dbtest.Log{}}
	c := db.Config{Clock: s.clock.now, Observe: o.observe}
	clocks := s.gate.now
	if o.realTime {
		c.Clock, clocks = nil, nil
	}
	if c.URL = o.url; o.url == "" {
		c.URL = dbtest.URL(t, database)
	}
	c.MaxConns = 8
	c.StatementTimeout, c.LockTimeout = o.timeout, o.timeout/2
	if o.timeout > 0 {
		c.AdmissionConns = 4
	}
	var err error
	s.databaseURL = c.URL
	s.db, err = hook.Open(context.Background(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.db.Close()) })
	s.rules = newRules(s.db, o.options)
	running, err := server.New(server.Config{
		Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", AdminToken: o.token, DB: s.db, Options: o.options, Clock: clocks,
		Timeouts: edge.Timeouts{Request: o.timeout},
		// Each bench has its own client address, so that benches do not share an address limit.
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Logger:         slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	require.NoError(t, err)
	s.admin = running.AdminAddr().String()
	s.url = "http://" + running.Addr().String()
	s.plain, s.h2c = newClient(false), newClient(true)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	t.Cleanup(func() {
		s.plain.CloseIdleConnections()
		s.h2c.CloseIdleConnections()
		stop()
		if err := <-ended; o.url == "" {
			require.NoError(t, err)
		}
		for _, key := range s.keys {
			require.NotContains(t, s.log.String(), key, "a key is never logged")
		}
	})
	return s
}

// newClient adds no headers, and checks every exchange under /v1 against the OpenAPI document.
func newClient(h2c bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!h2c)
	protocols.SetUnencryptedHTTP2(h2c)
	return &http.Client{
		Transport:     observed{&http.Transport{Protocols: protocols, DisableCompression: true, MaxIdleConnsPerHost: 64}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       time.Minute,
	}
}

// bench sends requests in one protocol, with its own store, client address and a key with every scope.
type bench struct {
	*testing.T
	*installation
	protocol protocol
	store    tenant.Store
	ctx      context.Context // for changes of the store by a member, as in the dashboard
	key      string
	keyID    string
	address  string
}

const keyName = "nightly sync"

var benches atomic.Int32

func (s *installation) newBench(t *testing.T, f protocol) *bench {
	t.Helper()
	n := benches.Add(1)
	return s.newBenchAt(t, f, fmt.Sprintf("atelier-%d", n))
}

func (s *installation) newBenchAt(t *testing.T, f protocol, slug string) *bench {
	t.Helper()
	n := benches.Add(1)
	b := &bench{T: t, installation: s, protocol: f, address: fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)}
	operator := tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}
	_, err := s.CreateStore(context.Background(), operator, &adminv1.CreateStoreRequest{
		Name: "Atelier Ndé", Description: new("Cours et guides"), SupportEmail: new("aide@atelier.example"),
		Phone: new("+237670000001"), WhatsappPhone: new("+237670000002"), PlatformFeePercent: new(2.5),
		Url: new("https://" + slug + ".example"),
		SocialLinks: map[string]string{"instagram": "https://instagram.example/atelier",
			"facebook": "https://facebook.example/atelier"},
		Slug: slug, Currency: "XAF", Country: "CM",
	})
	require.NoError(t, err)
	b.reload(slug)
	b.key, b.keyID = b.newKey(keyName, "never", auth.Scopes()...)
	return b
}

func (b *bench) reload(name string) {
	b.Helper()
	var err error
	b.store, err = b.FindStore(context.Background(), name)
	require.NoError(b, err)
	b.ctx = tenant.With(context.Background(), b.store, tenant.Actor{Type: tenant.ActorOperator, Name: "operator"})
}

func (b *bench) change(c *adminv1.UpdateStoreRequest) {
	b.Helper()
	_, err := b.UpdateStore(b.ctx, c)
	require.NoError(b, err)
	b.reload(b.store.Slug)
}

func (b *bench) newKey(name, lifetime string, scopes ...string) (text, id string) {
	b.Helper()
	lifetimes := map[string]adminv1.Key_Lifetime{
		"30d": adminv1.Key_DAYS_30, "90d": adminv1.Key_DAYS_90, "1y": adminv1.Key_YEAR_1, "never": adminv1.Key_NEVER,
	}
	key, err := b.CreateKey(b.ctx, shop.KeyDraft{Name: name, Scopes: scopes, Lifetime: lifetimes[lifetime]})
	require.NoError(b, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys = append(b.keys, key.Text)
	return key.Text, key.ID.String()
}

// withKey returns a copy with another key; "" means no Authorization header.
func (b *bench) withKey(key string) *bench {
	other := *b
	other.key = key
	return &other
}

func (b *bench) withProtocol(f protocol) *bench {
	other := *b
	other.protocol = f
	return &other
}

func (b *bench) isREST() bool { _, rest := b.protocol.(restProtocol); return rest }

func (b *bench) authorize(h http.Header) {
	h.Set("X-Forwarded-For", b.address)
	switch {
	case b.key == "":
	case strings.HasPrefix(b.key, "raw:"):
		h.Set("Authorization", strings.TrimPrefix(b.key, "raw:"))
	default:
		h.Set("Authorization", "Bearer "+b.key)
	}
}
