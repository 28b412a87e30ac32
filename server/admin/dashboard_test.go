package admin_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/store"
	"go.storefront.example/ent/store/storetest"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/refusal"
	"go.storefront.example/server/shop"
)

// handClock stands still until it is advanced.
type handClock struct{ at atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.at.Store(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *handClock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *handClock) advance(d time.Duration) { c.at.Add(int64(d)) }

// signingIn runs a test on every database with an operator of one store.
func signingIn(t *testing.T, test func(t *testing.T, o *admin.Operator, s *store.Store, c *handClock)) {
	t.Helper()
	for _, name := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHandClock()
			s := storetest.New(t, name, store.Config{Clock: c.now})
			o := admin.New(s, shop.New(s, shop.Options{}))
			_, err := o.CreateStore(t.Context(), shop.StoreDraft{StoreChange: shop.StoreChange{Name: new("Atelier")}, Slug: "atelier", Currency: "XAF", Country: "CM"})
			require.NoError(t, err)
			test(t, o, s, c)
		})
	}
}

func TestLinkSignsAMemberInOnce(t *testing.T) {
	t.Parallel()
	signingIn(t, func(t *testing.T, o *admin.Operator, s *store.Store, c *handClock) {
		ctx := t.Context()
		link, err := o.CreateSignInLink(ctx, "atelier", " Awa Ngo ", "owner", 0)
		require.NoError(t, err)
		require.Equal(t, c.now().Add(10*time.Minute).UTC(), link.ExpiresAt)
		u, err := url.Parse(link.URL("https://operator.example.com/"))
		require.NoError(t, err)
		require.Equal(t, "/dashboard/sign-in", u.Path)
		require.Equal(t, link.Secret, u.Query().Get("token"))

		for range 2 {
			who, err := o.LookAtSignInLink(ctx, link.Secret)
			require.NoError(t, err, "looking uses nothing up")
			require.Equal(t, admin.Member{Name: "Awa Ngo", Role: "owner", StoreName: "Atelier", ExpiresAt: link.ExpiresAt}, who)
		}
		secret, err := o.SignIn(ctx, link.Secret)
		require.NoError(t, err)
		_, err = o.SignIn(ctx, link.Secret)
		require.ErrorIs(t, err, admin.ErrSignInLink, "once")
		_, err = o.LookAtSignInLink(ctx, link.Secret)
		require.ErrorIs(t, err, admin.ErrSignInLink)

		in, who, err := o.InSession(ctx, secret)
		require.NoError(t, err)
		require.Equal(t, "Awa Ngo", who.Name)
		found, actor, _ := tenant.From(in)
		require.Equal(t, "atelier", found.Slug)
		require.Equal(t, tenant.Actor{Type: tenant.ActorMember, Name: "Awa Ngo"}, actor)

		for _, row := range s.Client().Session.Query().AllX(ctx) {
			require.NotContains(t, string(row.Fingerprint), secret, "only a fingerprint is kept")
			require.Len(t, row.Fingerprint, 32)
		}
		_, _, err = o.InSession(ctx, link.Secret)
		require.ErrorIs(t, err, admin.ErrNoSession, "a link is no session")
		require.NoError(t, o.SignOut(ctx, secret))
		require.NoError(t, o.SignOut(ctx, secret), "signing out twice changes nothing")
		_, _, err = o.InSession(ctx, secret)
		require.ErrorIs(t, err, admin.ErrNoSession)
		_, _, err = o.InSession(ctx, "")
		require.ErrorIs(t, err, admin.ErrNoSession)
	})
}

func TestOfManyAtOnceOneIsSignedIn(t *testing.T) {
	t.Parallel()
	signingIn(t, func(t *testing.T, o *admin.Operator, s *store.Store, _ *handClock) {
		link, err := o.CreateSignInLink(t.Context(), "atelier", "Awa", "admin", time.Minute)
		require.NoError(t, err)
		var in atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := o.SignIn(t.Context(), link.Secret); err == nil {
					in.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, in.Load())
		require.Equal(t, 1, s.Client().Session.Query().CountX(t.Context()))
	})
}

func TestLinksAndSessionsExpire(t *testing.T) {
	t.Parallel()
	signingIn(t, func(t *testing.T, o *admin.Operator, s *store.Store, c *handClock) {
		ctx := t.Context()
		late, err := o.CreateSignInLink(ctx, "atelier", "Awa", "owner", time.Minute)
		require.NoError(t, err)
		c.advance(time.Minute)
		_, err = o.SignIn(ctx, late.Secret)
		require.ErrorIs(t, err, admin.ErrSignInLink, "from the moment on that it expires")

		link, err := o.CreateSignInLink(ctx, "atelier", "Awa", "owner", time.Minute)
		require.NoError(t, err)
		secret, err := o.SignIn(ctx, link.Secret)
		require.NoError(t, err)
		c.advance(admin.SessionLength - time.Millisecond)
		_, _, err = o.InSession(ctx, secret)
		require.NoError(t, err)
		c.advance(time.Millisecond)
		_, _, err = o.InSession(ctx, secret)
		require.ErrorIs(t, err, admin.ErrNoSession, "twelve hours, whatever was done meanwhile")

		c.advance(time.Second)
		_, err = o.CreateSignInLink(ctx, "atelier", "Awa", "owner", time.Minute)
		require.NoError(t, err)
		require.Equal(t, 1, s.Client().SignInLink.Query().CountX(ctx), "what has expired is cleared away")
		require.Zero(t, s.Client().Session.Query().CountX(ctx))
	})
}

func TestRolesThatSignIn(t *testing.T) {
	t.Parallel()
	rows := []struct {
		role    string
		in      bool
		because string
	}{
		{"owner", true, "the store owner manages keys and webhooks"},
		{"admin", true, "and so do Admin members"},
		{"", false, "no role"},
		{"Owner", false, "one spelling"},
		{"member", false, "other members do not"},
		{"viewer", false, "other members do not"},
		{"operator", false, "the operator has the commands"},
	}
	signingIn(t, func(t *testing.T, o *admin.Operator, s *store.Store, c *handClock) {
		ctx := t.Context()
		for _, row := range rows {
			link, err := o.CreateSignInLink(ctx, "atelier", "Awa", row.role, time.Minute)
			if !row.in {
				require.Equal(t, refusal.ValidationFailed, codeOf(err), row.because)
			} else {
				require.NoError(t, err, row.because)
				_, err = o.SignIn(ctx, link.Secret)
				require.NoError(t, err, row.because)
			}
			// What stands in the tables otherwise lets nobody in either.
			print := admin.Fingerprint("a" + row.role)
			owner := s.Client().Store.Query().OnlyX(ctx).ID
			require.NoError(t, s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
				tx.SignInLink.Create().SetStoreID(owner).SetFingerprint(print).SetMember("Awa").SetRole(row.role).
					SetExpiresAt(c.now().Add(time.Minute)).SetCreatedAt(c.now()).ExecX(ctx)
				return tx.Session.Create().SetStoreID(owner).SetFingerprint(print).SetMember("Awa").SetRole(row.role).
					SetExpiresAt(c.now().Add(time.Minute)).SetCreatedAt(c.now()).Exec(ctx)
			}))
			_, err = o.SignIn(ctx, "a"+row.role)
			require.Equal(t, row.in, err == nil, "%s: %s", row.role, row.because)
			_, _, err = o.InSession(ctx, "a"+row.role)
			require.Equal(t, row.in, err == nil, "%s: %s", row.role, row.because)
		}
	})
}

func TestLinkIsRefused(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, storetest.SQLite, store.Config{})
	w := newTwo(t, s)
	for _, row := range []struct {
		because     string
		store, name string
		expires     time.Duration
		want        refusal.Code
	}{
		{"an unknown store", "three", "Awa", 0, refusal.StoreNotFound},
		{"nobody", "one", " ", 0, refusal.ValidationFailed},
		{"a name that the journal could not show", "one", "A\x00", 0, refusal.ValidationFailed},
		{"a name without end", "one", strings.Repeat("a", 101), 0, refusal.ValidationFailed},
		{"no time to use it", "one", "Awa", time.Millisecond, refusal.ValidationFailed},
		{"longer than a day", "one", "Awa", 24*time.Hour + 1, refusal.ValidationFailed},
	} {
		_, err := w.CreateSignInLink(context.Background(), row.store, row.name, "owner", row.expires)
		require.Equal(t, row.want, codeOf(err), row.because)
	}
	_, err := w.SignIn(t.Context(), uuid.NewString())
	require.ErrorIs(t, err, admin.ErrSignInLink)
}
