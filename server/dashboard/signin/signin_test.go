package signin_test

import (
	"context"
	"errors"
	"net/url"
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
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/dashboard/signin"
)

type handClock struct{ at atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.at.Store(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *handClock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *handClock) advance(d time.Duration) { c.at.Add(int64(d)) }

type service struct {
	*admin.Operator
	*signin.Sessions
}

func signingIn(t *testing.T, test func(t *testing.T, o service, d *db.DB, c *handClock)) {
	t.Helper()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHandClock()
			d := dbtest.New(t, name, db.Config{Clock: c.now})
			o := service{admin.New(d, admin.Options{}), signin.New(d)}
			_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "Atelier", Slug: "atelier", Currency: "XAF",
				Country: "CM"})
			require.NoError(t, err)
			test(t, o, d, c)
		})
	}
}

func awa(store string, expires time.Duration) *adminv1.CreateSignInLinkRequest {
	return &adminv1.CreateSignInLinkRequest{
		Store: store, Member: "Awa", Role: adminv1.Session_owner, ExpiresSeconds: new(int32(expires / time.Second)),
		BaseUrl: "https://dashboard.example.com",
	}
}

func secretOf(t *testing.T, link *adminv1.CreateSignInLinkResponse) string {
	t.Helper()
	u, err := url.Parse(link.GetUrl())
	require.NoError(t, err)
	return u.Query().Get("token")
}

func signedIn(t *testing.T, o service, store string) (session, id string) {
	t.Helper()
	link, err := o.CreateSignInLink(t.Context(), awa(store, time.Minute))
	require.NoError(t, err)
	session, err = o.SignIn(t.Context(), secretOf(t, link))
	require.NoError(t, err)
	return session, link.GetId()
}

func TestLinkSignsAMemberIn(t *testing.T) {
	t.Parallel()
	signingIn(t, func(t *testing.T, o service, d *db.DB, c *handClock) {
		ctx := t.Context()
		link, err := o.CreateSignInLink(ctx, &adminv1.CreateSignInLinkRequest{
			Store: "atelier", Member: " Awa Ngo ", Role: adminv1.Session_owner, BaseUrl: "https://dashboard.example.com/",
		})
		require.NoError(t, err)
		require.Equal(t, c.now().Add(10*time.Minute).UTC(), link.GetExpiresAt().AsTime())
		token := secretOf(t, link)
		require.Len(t, token, 43)
		require.Equal(t, "https://dashboard.example.com/dashboard/sign-in?token="+token, link.GetUrl())

		member, err := o.LinkMember(ctx, token)
		require.NoError(t, err)
		require.Equal(t, signin.Member{Name: "Awa Ngo", Role: "owner", StoreName: "Atelier", ExpiresAt: link.GetExpiresAt().AsTime(),
			Origin: "https://dashboard.example.com"}, member)
		secret, err := o.SignIn(ctx, token)
		require.NoError(t, err)
		in, _, err := o.Authenticate(ctx, secret, true)
		require.NoError(t, err)
		found, actor, _ := tenant.From(in)
		require.Equal(t, "atelier", found.Slug)
		require.Equal(t, tenant.Actor{Type: tenant.ActorMember, Name: "Awa Ngo"}, actor)
		for _, row := range d.Client().Session.Query().AllX(ctx) {
			require.NotContains(t, string(row.Fingerprint), secret, "only a fingerprint is kept")
			require.Len(t, row.Fingerprint, 32)
		}
		for _, none := range []string{token, ""} {
			_, _, err = o.Authenticate(ctx, none, true)
			require.ErrorIs(t, err, signin.ErrNoSession, "a link is no session")
		}
		require.NoError(t, o.SignOut(ctx, secret))
		require.NoError(t, o.SignOut(ctx, secret), "signing out twice changes nothing")
	})
}

func TestOfManyAtOnceOneIsSignedIn(t *testing.T) {
	t.Parallel()
	signingIn(t, func(t *testing.T, o service, d *db.DB, _ *handClock) {
		link, err := o.CreateSignInLink(t.Context(), awa("atelier", time.Minute))
		require.NoError(t, err)
		token := secretOf(t, link)
		var in atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := o.SignIn(t.Context(), token); err == nil {
					in.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, in.Load())
		require.Equal(t, 1, d.Client().Session.Query().CountX(t.Context()))
	})
}

func TestLinksAndSessionsExpire(t *testing.T) {
	t.Parallel()
	signingIn(t, func(t *testing.T, o service, d *db.DB, c *handClock) {
		ctx := t.Context()
		late, err := o.CreateSignInLink(ctx, awa("atelier", time.Minute))
		require.NoError(t, err)
		c.advance(time.Minute)
		_, err = o.SignIn(ctx, secretOf(t, late))
		require.ErrorIs(t, err, signin.ErrLink, "from the moment on that it expires")

		link, err := o.CreateSignInLink(ctx, awa("atelier", time.Minute))
		require.NoError(t, err)
		secret, err := o.SignIn(ctx, secretOf(t, link))
		require.NoError(t, err)
		c.advance(signin.SessionLength - time.Millisecond)
		_, _, err = o.Authenticate(ctx, secret, true)
		require.NoError(t, err)
		c.advance(time.Millisecond)
		_, _, err = o.Authenticate(ctx, secret, true)
		require.ErrorIs(t, err, signin.ErrNoSession, "twelve hours, whatever was done meanwhile")

		c.advance(time.Second)
		_, err = o.CreateSignInLink(ctx, awa("atelier", time.Minute))
		require.NoError(t, err)
		require.Equal(t, 1, d.Client().SignInLink.Query().CountX(ctx), "what has expired is cleared away")
		require.Zero(t, d.Client().Session.Query().CountX(ctx))
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
		{"Owner", false, "one form"},
		{"member", false, "other members do not"},
		{"viewer", false, "other members do not"},
		{"operator", false, "the operator has the commands"},
	}
	signingIn(t, func(t *testing.T, o service, s *db.DB, c *handClock) {
		ctx := t.Context()
		for _, row := range rows {
			d := awa("atelier", time.Minute)
			d.Role = adminv1.Session_Role(adminv1.Session_Role_value[row.role])
			link, err := o.CreateSignInLink(ctx, d)
			if !row.in {
				require.Equal(t, apierr.ValidationFailed, codeOf(err), row.because)
			} else {
				require.NoError(t, err, row.because)
				_, err = o.SignIn(ctx, secretOf(t, link))
				require.NoError(t, err, row.because)
			}
			// A link or a session whose row has a wrong role lets nobody in.
			print := signin.Fingerprint("a" + row.role)
			owner := s.Client().Store.Query().OnlyX(ctx).ID
			require.NoError(t, hook.Run(ctx, s, func(c *hook.Change) error {
				c.Tx.SignInLink.Create().SetStoreID(owner).SetFingerprint(print).SetMember("Awa").SetRole(row.role).
					SetExpiresAt(c.DB.Now().Add(time.Minute)).SetCreatedAt(c.DB.Now()).ExecX(c)
				return c.Tx.Session.Create().SetStoreID(owner).SetFingerprint(print).SetMember("Awa").SetRole(row.role).
					SetExpiresAt(c.DB.Now().Add(time.Minute)).SetCreatedAt(c.DB.Now()).Exec(c)
			}))
			_, err = o.SignIn(ctx, "a"+row.role)
			require.Equal(t, row.in, err == nil, "%s: %s", row.role, row.because)
			_, _, err = o.Authenticate(ctx, "a"+row.role, true)
			require.Equal(t, row.in, err == nil, "%s: %s", row.role, row.because)
		}
	})
}

func TestAddressesOfLinks(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.SQLite, db.Config{})
	w := service{admin.New(s, admin.Options{}), signin.New(s)}
	newStore(t, w, "one")
	for _, base := range []string{"", "dashboard.example.com", "https://", "ftp://dashboard.example.com",
		"http://dashboard.example.com", "http://10.0.0.5:8081", "http://localhost.example.com", "https://a@dashboard.example.com",
		"https://dashboard.example.com/?a=b", "https://dashboard.example.com/#a"} {
		d := awa("one", time.Minute)
		d.BaseUrl = base
		_, err := w.CreateSignInLink(context.Background(), d)
		require.Equal(t, apierr.ValidationFailed, codeOf(err), base)
	}
	for base, want := range map[string]string{
		"https://Dashboard.example.com:443/":   "https://dashboard.example.com",
		"https://dashboard.example.com:8443/x": "https://dashboard.example.com:8443",
		"http://127.0.0.1:8081":                "http://127.0.0.1:8081", "http://localhost": "http://localhost",
		"http://[::1]:80": "http://[::1]", "http://demo.localhost:1/": "http://demo.localhost:1",
	} {
		origin, err := signin.CheckBaseURL(base)
		require.NoError(t, err, base)
		require.Equal(t, want, origin)
		d := awa("one", time.Minute)
		d.BaseUrl = base
		link, err := w.CreateSignInLink(context.Background(), d)
		require.NoError(t, err, base)
		require.True(t, strings.HasPrefix(link.GetUrl(), strings.TrimRight(base, "/")+"/dashboard/sign-in?token="), link.GetUrl())
	}
	_, err := w.SignIn(t.Context(), uuid.NewString())
	require.ErrorIs(t, err, signin.ErrLink)
}

func activity(ctx context.Context, t *testing.T, o admin.API, store string, limit int32) []*adminv1.ActivityEntry {
	t.Helper()
	found, err := o.ListActivity(ctx, &adminv1.ListActivityRequest{Store: store, PageSize: &limit})
	require.NoError(t, err)
	return found.GetEntries()
}

func codeOf(err error) apierr.Code {
	r, _ := errors.AsType[*apierr.Refusal](err)
	if r == nil {
		return ""
	}
	return r.Code
}
