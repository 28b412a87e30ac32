package dashboard_test

import (
	"context"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/dashboard/signin"
	"go.storefront.example/server/limit"
)

// public is a name for which the certificate of a test server is valid.
const public = "https://example.com"

// proxied starts a TLS proxy that passes on neither Host nor X-Forwarded headers, like nginx's `proxy_pass
// http://127.0.0.1:8081`.
func (p place) proxied() reader {
	p.t.Helper()
	target, err := url.Parse(p.url)
	require.NoError(p.t, err)
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	p.t.Cleanup(proxy.Close)
	jar, err := cookiejar.New(nil)
	require.NoError(p.t, err)
	transport := proxy.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, proxy.Listener.Addr().String())
	}
	p.t.Cleanup(transport.CloseIdleConnections)
	p.url = public
	return reader{p, &http.Client{Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// The headers of the dashboard's own form, from browsers with and without Sec-Fetch-Site.
var (
	recentBrowser = []string{"Origin", public, "Sec-Fetch-Site", "same-origin"}
	olderBrowser  = []string{"Origin", public}
)

func TestBehindAProxyThatPassesOnNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		for name, headers := range map[string][]string{"recent": recentBrowser, "older": olderBrowser} {
			r := p.proxied()
			for _, foreign := range [][]string{
				{"Origin", "https://evil.example"}, {"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
				{"Origin", "http://example.com"},
				{"Origin", "null"}, {"Origin", public, "Sec-Fetch-Site", "same-site"},
			} {
				a := r.send(http.MethodPost, "/sign-in", url.Values{"token": {p.linkUnder(public, "one")}}, foreign...)
				require.Equal(t, http.StatusForbidden, a.status, "%s: %v", name, foreign)
				require.Empty(t, a.header.Get("Set-Cookie"))
			}
			in := r.send(http.MethodPost, "/sign-in", url.Values{"token": {p.linkUnder(public, "one")}}, headers...)
			require.Equal(t, http.StatusSeeOther, in.status, name)
			require.Equal(t, "/dashboard/", in.location)
			require.Regexp(t, `^__Host-storefront_session=[\w-]{43}; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Lax$`,
				in.header.Get("Set-Cookie"), name)

			form := r.form("/keys/new", url.Values{"name": {"CRM"}, "scopes": {"store:read"}, "lifetime": {"30d"}})
			for _, foreign := range [][]string{{"Origin", "https://evil.example"}, {"Origin", public, "Sec-Fetch-Site", "cross-site"}} {
				require.Equal(t, http.StatusForbidden, r.send(http.MethodPost, "/keys", form, foreign...).status, "%s: %v", name, foreign)
			}
			made := r.send(http.MethodPost, "/keys", form, headers...)
			require.Equal(t, http.StatusOK, made.status, name)
			require.NotEmpty(t, secretText.FindString(made.text))

			out := r.send(http.MethodPost, "/sign-out", url.Values{"csrf": {r.token()}}, headers...)
			require.Equal(t, http.StatusSeeOther, out.status, name)
			require.Equal(t, `__Host-storefront_session=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax`, out.header.Get("Set-Cookie"),
				name)
			require.Equal(t, http.StatusUnauthorized, r.get("/keys").status, name)
		}
	})
}

func TestLinkDecidesTheCookie(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	p := newPlace(t, d)
	for _, base := range []string{public, "https://127.0.0.1:8443", "http://127.0.0.1:8081", "http://localhost:8081"} {
		for _, host := range []string{"127.0.0.1:8081", "localhost:8081", "example.com", "10.0.0.5:8081"} {
			for _, proto := range []string{"", "http", "https"} {
				form := url.Values{"token": {p.linkUnder(base, "one")}}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/dashboard/sign-in",
					strings.NewReader(form.Encode()))
				require.NoError(t, err)
				request.Host = host
				request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				if proto != "" {
					request.Header.Set("X-Forwarded-Proto", proto)
				}
				answer, err := p.reader().Do(request)
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				require.Equal(t, http.StatusSeeOther, answer.StatusCode)
				cookie, secure := answer.Header.Get("Set-Cookie"), strings.HasPrefix(base, "https:")
				require.Equal(t, secure, strings.HasPrefix(cookie, "__Host-storefront_session="), "%s at %s: %s", base, host, cookie)
				require.Equal(t, secure, strings.Contains(cookie, "; Secure"), cookie)
			}
		}
	}
}

// Plain http or a sister domain, which can set the cookie for http, gains nothing by it.
func TestSessionIsAcceptedInItsOwnCookieOnly(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	p := newPlace(t, d)
	session := func(base string) string {
		secret, err := signin.New(d).SignIn(t.Context(), p.linkUnder(base, "one"))
		require.NoError(t, err)
		return secret
	}
	secure, plain := session(public), session("http://127.0.0.1:8081")
	for cookie, status := range map[string]int{
		"__Host-storefront_session=" + secure: http.StatusOK,
		"storefront_session=" + plain:         http.StatusOK,
		"storefront_session=" + secure:        http.StatusUnauthorized,
		"__Host-storefront_session=" + plain:  http.StatusUnauthorized,
		"storefront_session=":                 http.StatusUnauthorized,
		// If one cookie has an ended session, the other cookie counts.
		"__Host-storefront_session=over; storefront_session=" + plain: http.StatusOK,
	} {
		require.Equal(t, status, p.reader().send(http.MethodGet, "/keys", nil, "Cookie", cookie).status, cookie)
	}
	// If both cookies have a running session, that of the __Host- cookie is used and signed out.
	theirs, err := signin.New(d).SignIn(t.Context(), p.link("two"))
	require.NoError(t, err)
	both := []string{"Cookie", "storefront_session=" + theirs + "; __Host-storefront_session=" + secure}
	a := p.reader().send(http.MethodGet, "/keys", nil, both...)
	require.Contains(t, a.text, "Store one")
	token := tokenField.FindStringSubmatch(a.text)[1]
	out := p.reader().send(http.MethodPost, "/sign-out", url.Values{"csrf": {token}}, both...)
	require.Equal(t, http.StatusSeeOther, out.status)
	require.Contains(t, out.header.Get("Set-Cookie"), "__Host-storefront_session=;")
	require.Equal(t, http.StatusUnauthorized, p.reader().send(http.MethodGet, "/keys", nil, "Cookie", "__Host-storefront_session="+
		secure).status)
}

// Even if the earlier session is in the cookie for http and the new one in that for https.
func TestSigningInReplacesTheSession(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	p := newPlace(t, d)
	before, err := signin.New(d).SignIn(t.Context(), p.link("one"))
	require.NoError(t, err)
	elsewhere := p.signedIn("one")
	failed := p.reader().send(http.MethodPost, "/sign-in", url.Values{"token": {"no link"}}, "Cookie", "storefront_session="+before)
	require.Equal(t, http.StatusGone, failed.status)
	require.Equal(t, http.StatusOK, p.reader().send(http.MethodGet, "/keys", nil, "Cookie", "storefront_session="+before).status)
	in := p.reader().send(http.MethodPost, "/sign-in", url.Values{"token": {p.linkUnder(public, "two")}}, "Cookie",
		"storefront_session="+before)
	require.Equal(t, http.StatusSeeOther, in.status)
	set := strings.Join(in.header.Values("Set-Cookie"), "\n")
	require.Regexp(t, `(?m)^__Host-storefront_session=[\w-]{43};`, set)
	require.NotContains(t, set, before, "the new session has a secret of its own")
	require.Contains(t, set, "storefront_session=; Path=/dashboard; Max-Age=0")
	require.Equal(t, http.StatusUnauthorized, p.reader().send(http.MethodGet, "/keys", nil, "Cookie", "storefront_session="+
		before).status)
	require.Equal(t, http.StatusOK, elsewhere.get("/keys").status, "another browser stays signed in")
}

func (p place) second() place {
	server := httptest.NewServer(dashboard.New(dashboard.Config{
		Operator: admin.New(p.db, admin.Options{}), Sessions: signin.New(p.db), Now: p.db.Now, Unreachable: db.IsUnreachable, Logger: p.logger(),
		Slots: limit.NewSlots(4, 2),
	}))
	p.t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func TestSigningOutEverywhere(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		here, elsewhere, far := p.signedIn("one"), p.second().signedIn("one"), p.signedIn("two")
		unused := p.link("one")
		other, err := p.operator.CreateSignInLink(t.Context(), &adminv1.CreateSignInLinkRequest{
			Store: "one", Member: "Bea", Role: adminv1.Session_admin, BaseUrl: public, ExpiresSeconds: new(int32(60)),
		})
		require.NoError(t, err)
		_, bea, _ := strings.Cut(other.GetUrl(), "token=")

		require.Regexp(t, `href="/dashboard/sign-out-everywhere"`, here.get("/keys").text)
		ask := here.get("/sign-out-everywhere")
		require.Equal(t, http.StatusOK, ask.status)
		require.Contains(t, ask.text, "Sign out everywhere?")
		require.Equal(t, http.StatusOK, elsewhere.get("/keys").status, "asking ends nothing")
		require.Equal(t, http.StatusForbidden, here.send(http.MethodPost, "/sign-out-everywhere", url.Values{}).status)

		out := here.send(http.MethodPost, "/sign-out-everywhere", here.form("/sign-out-everywhere", url.Values{}))
		require.Equal(t, http.StatusSeeOther, out.status, out.text)
		require.Contains(t, out.header.Get("Set-Cookie"), "storefront_session=; Path=/dashboard; Max-Age=0")
		require.Equal(t, "/dashboard/sign-in?done=signed-out-everywhere", out.location)
		require.Contains(t, here.get(strings.TrimPrefix(out.location, "/dashboard")).text, "You are signed out everywhere")
		require.Equal(t, http.StatusUnauthorized, here.get("/keys").status)
		require.Equal(t, http.StatusUnauthorized, elsewhere.get("/keys").status, "with the next request, on every server")
		require.Equal(t, http.StatusGone, p.reader().get("/sign-in?token="+unused).status)
		require.Equal(t, http.StatusOK, far.get("/keys").status, "the other store's stay")
		require.Equal(t, http.StatusOK, p.reader().get("/sign-in?token="+bea).status, "and other members'")

		entries := p.activity("one")
		require.Equal(t, "store.signed_out", entries[0].Action)
		require.Equal(t, "Awa Ngo", entries[0].GetActor().GetName())
		require.Contains(t, p.signedIn("one").get("/activity").text, "Store signed out")
	})
}

// Every server refuses its next request, even a form that was open.
func TestRevokedSessionIsOverOnEveryServer(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		r := p.second().signedIn("one")
		form := r.form("/keys/new", url.Values{"name": {"CRM"}, "scopes": {"store:read"}, "lifetime": {"30d"}})
		all, err := p.operator.ListSessions(t.Context(), &adminv1.ListSessionsRequest{Store: "one"})
		require.NoError(t, err)
		require.Len(t, all.GetSessions(), 1)
		_, err = p.operator.RevokeSession(t.Context(), &adminv1.RevokeSessionRequest{Id: all.GetSessions()[0].GetId()})
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, r.send(http.MethodPost, "/keys", form).status)
		require.Equal(t, http.StatusUnauthorized, r.get("/keys").status)
		require.Zero(t, d.Client().ApiKey.Query().CountX(t.Context()))
		require.Regexp(t, regexp.MustCompile(`Please sign in`), r.get("/activity").text)
	})
}
