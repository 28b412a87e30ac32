package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/session"
	"go.storefront.example/gen/ent/webhook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/dashboard"
)

const logo = `<svg xmlns="http://www.w3.org/2000/svg"/>`

func TestThePlatformIsShown(t *testing.T) {
	t.Parallel()
	p := newPlace(t, dbtest.New(t, dbtest.SQLite, db.Config{}), dashboard.Platform{
		Name: "Mboa & Co", Logo: []byte(logo), Color: "#ffcc00", SignInURL: "https://mboa.example/links?from=dashboard",
	})
	out, in := p.reader().get("/keys").text, p.signedIn("one").get("/keys").text
	for _, text := range []string{out, in} {
		require.Contains(t, text, "Mboa &amp; Co</title>")
		for name, want := range map[string]string{"logo": logo, "brand.css": "--accent: #"} {
			file := regexp.MustCompile(`/dashboard(/static/` + regexp.QuoteMeta(name) + `\?v=\w+)"`).FindStringSubmatch(text)
			require.NotNil(t, file, name)
			require.Contains(t, p.reader().get(file[1]).text, want)
		}
	}
	for _, path := range []string{"/keys", "/sign-in", "/sign-in?token=x", "/sign-in?done=signed-out"} {
		require.Contains(t, p.reader().get(path).text, `href="https://mboa.example/links?from=dashboard"`, path)
	}
	require.NotContains(t, in, "mboa.example/links")
}

func TestThePlatformsPagesMayShowItInAFrame(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d, dashboard.Platform{FrameAncestors: []string{"https://App.example.com", "http://localhost:3000"}})
		a := p.reader().get("/sign-in")
		require.Contains(t, a.header.Get("Content-Security-Policy"), "; frame-ancestors https://app.example.com http://localhost:3000;")
		require.Empty(t, a.header.Get("X-Frame-Options"))
		cookie := p.reader().send(http.MethodPost, "/sign-in",
			url.Values{"token": {p.linkUnder("https://dash.example.com", "one")}}).header.Get("Set-Cookie")
		require.Regexp(t, `^__Host-storefront_session=[\w-]{43}; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=None; Partitioned$`,
			cookie)

		// Only a form of the dashboard can prolong the session, not the page around its frame.
		r := p.signedIn("one")
		require.Contains(t, r.get("/keys").text, `data-ancestors="https://app.example.com http://localhost:3000 "`)
		begun := d.Client().Session.Query().Where(session.Origin("http://127.0.0.1:8081")).OnlyX(t.Context())
		early := d.Now().Add(time.Hour)
		_, err := d.Writer().ExecContext(t.Context(), "UPDATE sessions SET expires_at = $1", early)
		require.NoError(t, err)
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://app.example.com"}} {
			require.Equal(t, http.StatusForbidden, r.send(http.MethodPost, "/keep-alive", url.Values{"csrf": {r.token()}},
				headers...).status)
		}
		require.Equal(t, http.StatusForbidden, r.send(http.MethodPost, "/keep-alive", nil).status)
		require.True(t, early.Equal(d.Client().Session.GetX(t.Context(), begun.ID).ExpiresAt))
		a = r.post("/keep-alive")
		require.Equal(t, http.StatusNoContent, a.status)
		require.Contains(t, a.header.Get("Set-Cookie"), "Max-Age=43200")
		require.WithinDuration(t, d.Now().Add(12*time.Hour), d.Client().Session.GetX(t.Context(), begun.ID).ExpiresAt, time.Minute)
		_, err = p.operator.RevokeSession(t.Context(), &adminv1.RevokeSessionRequest{Id: begun.ID.String()})
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, r.send(http.MethodPost, "/keep-alive", nil).status, "what has ended stays so")

		alone := newPlace(t, dbtest.New(t, dbtest.SQLite, db.Config{})).signedIn("one")
		require.Equal(t, http.StatusNotFound, alone.post("/keep-alive").status)
	})
}

func TestWhatThePlatformCannotBe(t *testing.T) {
	t.Parallel()
	for because, p := range map[string]dashboard.Platform{
		"must be of the form #0b6b5e":    {Color: "green"},
		"must be an SVG, PNG":            {Logo: []byte("hello")},
		"at most 512 KiB":                {Logo: []byte(logo + strings.Repeat(" ", 512<<10))},
		"must be an https address":       {SignInURL: "http://mboa.example/"},
		"must be an address such as":     {SignInURL: "mboa.example"},
		"without a path":                 {FrameAncestors: []string{"https://app.example.com/shop"}},
		"a frame's ancestor must be an ": {FrameAncestors: []string{"*"}},
	} {
		_, err := p.Check()
		require.ErrorContains(t, err, because)
	}
}

func TestTheOverviewSaysWhatNeedsAttention(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		r := p.signedIn("one")
		require.Contains(t, r.get("/").text, "Begin with an", "a store with nothing")
		o := p.fill("one")
		p.fill("two")
		exec := func(statement string, args ...any) {
			_, err := d.Writer().ExecContext(t.Context(), statement, args...)
			require.NoError(t, err)
		}
		exec("UPDATE api_keys SET expires_at = $1", d.Now().Add(13*24*time.Hour+time.Minute))
		exec("UPDATE webhooks SET failing_since = $1", d.Now().Add(-time.Hour))
		exec("UPDATE deliveries SET retry = true, due_at = $1, attempts = $2 WHERE id = $3", d.Now().Add(4*time.Hour+30*time.Second),
			[]byte(`[{"number":1,"startedAt":"2026-10-01T12:00:00Z","durationMs":1,"statusCode":null,"error":"connection refused"}]`),
			o.delivery)
		a := r.get("/")
		for _, want := range []string{
			`/webhooks/` + o.webhook + `">`, "has failed since", "key of one</a> expires in 13 d.", "key of one</a> was never used",
			"1 delivery waits for another attempt, the next in 4 h.", `<span class="badge warn">1 failing</span>`,
		} {
			require.Contains(t, a.text, want)
		}
		require.NotContains(t, a.text, "two")
		found := r.get("/deliveries?status=retrying")
		require.Contains(t, found.text, o.delivery)
		require.Contains(t, found.text, "retrying, next in 4 h")
		require.Contains(t, found.text, "nothing answers at this address")
		require.Contains(t, r.get("/deliveries?status=retrying&q=test").text, o.delivery)
		require.Contains(t, r.get("/events").text, o.delivery, "an event with its delivery")
		require.NotContains(t, r.get("/events?type=order.paid").text, o.delivery)
		sent := r.post("/deliveries/" + o.delivery + "/resend")
		require.Equal(t, "/dashboard/deliveries/"+o.delivery+"?done=sent-now", sent.location)
		require.NotContains(t, r.get("/deliveries").text, "next in 4 h")

		exec("UPDATE api_keys SET expires_at = $1", d.Now().Add(-time.Hour))
		require.Contains(t, r.get("/").text, "key of one</a> expired 1 h ago")
		_, err := p.operator.CreateKey(t.Context(), &adminv1.CreateKeyRequest{
			Store: "one", Name: "key of one", Scopes: []string{"store:read"}, Lifetime: adminv1.Key_NEVER,
		})
		require.NoError(t, err)
		require.NotContains(t, r.get("/").text, "</a> expired", "it has a successor")
	})
}

// Not even if owners know their ids.
func TestNoticesAreNotTheOwners(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		require.NoError(t, notice.SetWebhook(t.Context(), d, p.secrets, "https://mailer.example/hidden", "x"))
		before, err := d.Client().Webhook.Query().Where(webhook.StoreID(notice.NoStore)).Only(t.Context())
		require.NoError(t, err)
		hidden := before.ID.String()
		p.fill("one") // creates a key, which sends a notice to the platform
		found, err := p.operator.ListDeliveries(t.Context(), &adminv1.ListDeliveriesRequest{Store: admin.Notices})
		require.NoError(t, err)
		sent := found.GetDeliveries()[0]
		require.Equal(t, notice.KeyCreated, sent.GetEventType())
		_, err = p.operator.ListDeliveries(tenant.With(t.Context(), tenant.Store{ID: uuid.New(), Slug: "one"}, tenant.Actor{}),
			&adminv1.ListDeliveriesRequest{Store: admin.Notices})
		require.ErrorContains(t, err, "There is no store @notices")

		r := p.signedIn("one")
		for _, path := range []string{"/", "/webhooks", "/deliveries", "/deliveries?q=key", "/deliveries?q=" + sent.GetId(), "/events",
			"/deliveries?webhook=" + hidden} {
			a := r.get(path)
			require.Equal(t, http.StatusOK, a.status, path)
			for _, secret := range []string{"mailer.example", notice.KeyCreated + "<", sent.GetEventId()} {
				require.NotContains(t, a.text, secret, path)
			}
		}
		for _, path := range []string{"/webhooks/" + hidden, "/webhooks/" + hidden + "/edit", "/deliveries/" + sent.GetId(),
			"/deliveries/" + sent.GetId() + "/payload"} {
			require.Equal(t, http.StatusNotFound, r.get(path).status, path)
		}
		for _, path := range []string{"/webhooks/" + hidden + "/disable", "/webhooks/" + hidden + "/delete",
			"/deliveries/" + sent.GetId() + "/resend"} {
			require.Equal(t, http.StatusNotFound, r.post(path).status, path)
		}
		after, err := d.Client().Webhook.Get(t.Context(), before.ID)
		require.NoError(t, err)
		require.Equal(t, before.String(), after.String())
		_, err = p.operator.CreateWebhook(t.Context(), &adminv1.CreateWebhookRequest{Store: "one", Url: "https://a.example",
			Events: []string{notice.KeyCreated}})
		require.ErrorContains(t, err, "details.fields", "nobody subscribes to a notice")
	})
}
