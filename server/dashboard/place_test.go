package dashboard_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/dashboard/signin"
	"go.storefront.example/server/limit"
	"go.storefront.example/server/webhooks"
)

// place is a dashboard with two stores, whose slugs are one and two.
type place struct {
	t        *testing.T
	url      string
	db       *db.DB
	operator *admin.Operator
	secrets  *seal.Keyring
	logs     *log
}

const apiAddress = "https://api.example.com"

type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newPlace(t *testing.T, d *db.DB, platforms ...dashboard.Platform) place {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	secrets := seal.NewKeyring(key)
	p := place{t: t, db: d, operator: admin.New(d, admin.Options{Webhooks: webhooks.Options{Secrets: secrets}}), secrets: secrets,
		logs: &log{}}
	for slug, currency := range map[string]string{"one": "XAF", "two": "EUR"} {
		_, err := p.operator.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "Store " + slug, Slug: slug, Currency: currency,
			Country: "CM"})
		require.NoError(t, err)
	}
	var platform dashboard.Platform
	for _, platform = range platforms {
		platform, err = platform.Check()
		require.NoError(t, err)
	}
	server := httptest.NewServer(dashboard.New(dashboard.Config{
		Operator: p.operator, Sessions: signin.New(d), Now: d.Now, Unreachable: db.IsUnreachable, Logger: p.logger(), Slots: limit.NewSlots(4, 2),
		Platform: platform, API: apiAddress,
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p place) logger() *slog.Logger { return slog.New(slog.NewTextHandler(p.logs, nil)) }

func (p place) link(slug string) string {
	p.t.Helper()
	return p.linkUnder("http://127.0.0.1:8081", slug)
}

func (p place) linkUnder(base, slug string) string {
	p.t.Helper()
	link, err := p.operator.CreateSignInLink(p.t.Context(), &adminv1.CreateSignInLinkRequest{
		Store: slug, Member: "Awa Ngo", Role: adminv1.Session_owner, ExpiresSeconds: new(int32(60)), BaseUrl: base,
	})
	require.NoError(p.t, err)
	_, secret, _ := strings.Cut(link.GetUrl(), "token=")
	return secret
}

// reader is a browser without scripts that follows no redirects.
type reader struct {
	place
	*http.Client
}

func (p place) reader() reader {
	jar, err := cookiejar.New(nil)
	require.NoError(p.t, err)
	return reader{p, &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (p place) signedIn(slug string) reader {
	p.t.Helper()
	r := p.reader()
	a := r.send(http.MethodPost, "/sign-in", url.Values{"token": {p.link(slug)}})
	require.Equal(p.t, http.StatusSeeOther, a.status)
	return r
}

type answer struct {
	status   int
	header   http.Header
	text     string
	location string
}

func (r reader) send(method, path string, form url.Values, headers ...string) answer {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.url+dashboard.Path+path, strings.NewReader(form.Encode()))
	require.NoError(r.t, err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	a, err := r.Do(request)
	require.NoError(r.t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	require.NoError(r.t, err)
	return answer{a.StatusCode, a.Header, string(text), a.Header.Get("Location")}
}

func (r reader) get(path string) answer {
	r.t.Helper()
	return r.send(http.MethodGet, path, nil)
}

var tokenField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (r reader) token() string {
	r.t.Helper()
	found := tokenField.FindStringSubmatch(r.get("/keys").text)
	require.NotNil(r.t, found)
	return found[1]
}

var onceField = regexp.MustCompile(`name="once" value="([\w-]{22})"`)

func (r reader) once() string {
	r.t.Helper()
	found := onceField.FindStringSubmatch(r.get("/keys/new").text)
	require.NotNil(r.t, found)
	return found[1]
}

func (r reader) post(path string, fields ...string) answer {
	r.t.Helper()
	form := url.Values{"csrf": {r.token()}, "once": {r.once()}}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return r.send(http.MethodPost, path, form)
}

type things struct {
	key, webhook, delivery, entry string
}

func (p place) fill(slug string) things {
	p.t.Helper()
	ctx := p.t.Context()
	k, err := p.operator.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: slug, Name: "key of " + slug,
		Scopes: []string{"store:read"}, Lifetime: adminv1.Key_DAYS_30})
	require.NoError(p.t, err)
	w, err := p.operator.CreateWebhook(ctx, &adminv1.CreateWebhookRequest{Store: slug, Url: "https://" + slug +
		".example.com/hooks"})
	require.NoError(p.t, err)
	ping, err := p.operator.PingWebhook(ctx, &adminv1.PingWebhookRequest{Id: w.GetWebhook().GetId()})
	require.NoError(p.t, err)
	return things{k.GetKey().GetId(), w.GetWebhook().GetId(), ping.GetId(), p.activity(slug)[0].GetId()}
}

// pages and forms return the addresses of all pages about a store's rows, and of their forms.
func pages(o things) []string {
	return []string{
		"/keys/" + o.key + "/revoke", "/webhooks/" + o.webhook, "/webhooks/" + o.webhook + "/edit", "/webhooks/" + o.webhook +
			"/disable",
		"/webhooks/" + o.webhook + "/delete", "/webhooks/" + o.webhook + "/rotate", "/deliveries/" + o.delivery,
		"/deliveries/" + o.delivery + "/payload",
	}
}

func forms(o things) []string {
	return []string{
		"/keys/" + o.key + "/revoke", "/webhooks/" + o.webhook + "/edit", "/webhooks/" + o.webhook + "/disable",
		"/webhooks/" + o.webhook + "/enable",
		"/webhooks/" + o.webhook + "/delete", "/webhooks/" + o.webhook + "/rotate", "/webhooks/" + o.webhook + "/ping",
		"/webhooks/" + o.webhook + "/resend", "/webhooks/" + o.webhook + "/send-waiting", "/deliveries/" + o.delivery + "/resend",
	}
}

// filled has the fields that the forms need, as pairs of a name and a value.
var filled = []string{"url", "https://taken.example.com/", "description", "x", "events", "order.paid", "window", "24h"}
