package auth_test

import (
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	entstore "go.storefront.example/gen/ent/store"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/limit"
)

var (
	home         = netip.MustParseAddr("203.0.113.7")
	otherAddress = netip.MustParseAddr("2001:db8::7")
)

// noon begins the clocks of tests, 15 seconds after a full minute.
var noon = time.Date(2026, 9, 1, 12, 0, 15, 0, time.UTC)

// watch shows the same time until a test sets it.
type watch struct {
	mu sync.Mutex
	at time.Time
}

func (w *watch) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *watch) set(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = at
}

// fixture is a database with an open store, a gate for it, and their clock.
type fixture struct {
	*testing.T
	url   string
	db    *db.DB
	watch *watch
	gate  *auth.Gate
	trips atomic.Int64 // without those that prepare statements
	shop  tenant.Store
}

func each(t *testing.T, test func(f *fixture)) {
	t.Helper()
	t.Parallel()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{T: t, url: dbtest.URL(t, name), watch: &watch{at: noon}}
			f.db = f.open()
			f.gate = auth.NewGate(f.db, auth.Options{Clock: f.watch.now})
			f.shop = f.newStore("kiosk")
			test(f)
		})
	}
}

// open opens the database again, as another process would.
func (f *fixture) open() *db.DB {
	f.Helper()
	return f.openWith(db.Config{Clock: f.watch.now, Observe: func(query string) {
		if query != "prepare" {
			f.trips.Add(1)
		}
	}})
}

func (f *fixture) openWith(c db.Config) *db.DB {
	f.Helper()
	c.URL, c.MaxConns = f.url, 8
	d, err := hook.Open(f.Context(), c)
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, d.Close()) })
	return d
}

// another is the gate of a second server.
func (f *fixture) another() *auth.Gate {
	f.Helper()
	return auth.NewGate(f.open(), auth.Options{Clock: f.watch.now})
}

// in runs a transaction for a store, as the operator.
func (f *fixture) in(s tenant.Store, change func(c *hook.Change) error) {
	f.Helper()
	ctx := tenant.With(f.Context(), s, tenant.Actor{Type: tenant.ActorOperator, Name: "operator"})
	require.NoError(f, hook.Run(ctx, f.db, change))
}

func (f *fixture) newStore(slug string) tenant.Store {
	f.Helper()
	s := tenant.Store{
		ID: uuid.Must(uuid.NewV7()), Slug: slug, Currency: "XAF", Country: "CM", Status: "open",
		// JSON may change these values: a number with 17 digits, and several texts.
		PlatformFeePercent: 3.3333333333333335, UnavailableTypes: []string{"MEETING", "EVENT"},
	}
	f.in(s, func(c *hook.Change) error {
		return c.Tx.Store.Create().SetID(s.ID).SetName("Kiosk").SetSlug(s.Slug).SetURL("https://example.com/" + slug).
			SetCurrency(s.Currency).SetCountry(s.Country).SetPaymentLinksOpen(s.PaymentLinksOpen).
			SetUnavailableTypes(s.UnavailableTypes).SetPlatformFeePercent(s.PlatformFeePercent).
			SetCreatedAt(noon).SetUpdatedAt(noon).Exec(c)
	})
	return s
}

func (f *fixture) setStatus(status string) {
	f.Helper()
	f.in(f.shop, func(c *hook.Change) error {
		if err := c.MarkLocked(c.Tx.Store.GetX(c, f.shop.ID)); err != nil {
			return err
		}
		return c.Tx.Store.UpdateOneID(f.shop.ID).SetStatus(entstore.Status(status)).SetUpdatedAt(noon).Exec(c)
	})
}

type key struct {
	id   uuid.UUID
	text string
}

func (k key) header() []string { return []string{"Bearer " + k.text} }

// newKey creates an API key of f.shop. The zero time means that it does not expire.
func (f *fixture) newKey(name string, expires time.Time) key {
	f.Helper()
	k := key{uuid.Must(uuid.NewV7()), auth.NewKey(uuid.New())}
	fingerprint := auth.Fingerprint(k.text)
	f.in(f.shop, func(c *hook.Change) error {
		create := c.Tx.ApiKey.Create().SetID(k.id).SetStoreID(f.shop.ID).SetName(name).SetFingerprint(fingerprint[:]).
			SetHint(auth.Hint(k.text)).SetScopes([]string{auth.ScopeProductsWrite, auth.ScopeOrdersRead}).SetCreatedAt(noon)
		if !expires.IsZero() {
			create.SetExpiresAt(expires)
		}
		return create.Exec(c)
	})
	return k
}

func (f *fixture) revoke(k key) {
	f.Helper()
	f.in(f.shop, func(c *hook.Change) error {
		if err := c.MarkLocked(c.Tx.ApiKey.GetX(c, k.id)); err != nil {
			return err
		}
		return c.Tx.ApiKey.UpdateOneID(k.id).SetRevokedAt(f.watch.now()).Exec(c)
	})
}

func (f *fixture) lastUse(k key) *time.Time {
	f.Helper()
	row, err := f.db.Client().ApiKey.Get(f.Context(), k.id)
	require.NoError(f, err)
	return row.LastUsedAt
}

// unknown has a well-formed key that does not exist.
func unknown() []string { return []string{"Bearer " + auth.NewKey(uuid.New())} }

func malformed() []string {
	text := auth.NewKey(uuid.New())
	last := "0"
	if strings.HasSuffix(text, "0") {
		last = "1"
	}
	return []string{"Bearer " + text[:len(text)-1] + last}
}

// admit returns the code of Admit's refusal, or "". It fails the test for any other error, and for an impossible rate.
func (f *fixture) admit(g *auth.Gate, header []string, from netip.Addr) (auth.Principal, limit.Rate, apierr.Code) {
	f.Helper()
	p, rate, err := g.Admit(f.Context(), header, from)
	require.Equal(f, limit.RequestsPerMinute, rate.Limit)
	require.True(f, rate.Reset >= time.Second && rate.Reset <= time.Minute, "reset %s", rate.Reset)
	if err == nil {
		require.False(f, rate.Limited)
		return p, rate, ""
	}
	var r *apierr.Refusal
	require.ErrorAs(f, err, &r)
	require.Nil(f, r.Cause)
	require.Equal(f, r.Code == apierr.RateLimited, rate.Limited, "limited goes with rate_limited")
	if len(header) == 1 {
		require.NotContains(f, err.Error(), strings.TrimPrefix(header[0], "Bearer "), "no error contains the key")
	}
	return p, rate, r.Code
}

func (f *fixture) code(g *auth.Gate, header []string, from netip.Addr) apierr.Code {
	f.Helper()
	_, _, code := f.admit(g, header, from)
	return code
}
