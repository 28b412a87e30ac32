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
	"go.storefront.example/gen/ent/event"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/webhooks"
)

func TestSessionReachesItsStoreOnly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		mine, theirs := p.fill("one"), p.fill("two")
		r := p.signedIn("one")
		before := p.state("two")

		for _, path := range pages(mine) {
			require.Equal(t, http.StatusOK, r.get(path).status, path)
		}
		for _, path := range pages(theirs) {
			a := r.get(path)
			require.Equal(t, http.StatusNotFound, a.status, path)
			require.NotContains(t, a.text, "two.example.com", path)
			require.NotContains(t, a.text, "key of two", path)
		}
		for _, path := range forms(theirs) {
			a := r.post(path, filled...)
			require.Equal(t, http.StatusNotFound, a.status, path)
			require.NotContains(t, a.text, "two.example.com", path)
		}
		// A page answers 404 if its address has the id of another kind.
		for _, path := range append(pages(things{mine.webhook, mine.key, mine.webhook, ""}), pages(things{"x", "x", "x", ""})...) {
			require.Equal(t, http.StatusNotFound, r.get(path).status, path)
		}
		for _, list := range []string{"/keys", "/webhooks", "/deliveries", "/activity", "/deliveries?webhook=" + theirs.webhook,
			"/deliveries?before=" + uuid.Max.String()} {
			a := r.get(list)
			require.Equal(t, http.StatusOK, a.status, list)
			require.NotContains(t, a.text, "two.example.com", list)
			require.NotContains(t, a.text, "key of two", list)
			require.NotContains(t, a.text, theirs.delivery, list)
		}
		require.Equal(t, http.StatusBadRequest, r.get("/activity?before="+theirs.entry).status)
		require.Equal(t, before, p.state("two"), "nothing of the other store changed")
	})
}

func (p place) activity(slug string) []*adminv1.ActivityEntry {
	p.t.Helper()
	found, err := p.operator.ListActivity(p.t.Context(), &adminv1.ListActivityRequest{Store: slug})
	require.NoError(p.t, err)
	return found.GetEntries()
}

func (p place) state(slug string) string {
	p.t.Helper()
	deliveries, err := p.operator.ListDeliveries(p.t.Context(), &adminv1.ListDeliveriesRequest{Store: slug})
	require.NoError(p.t, err)
	var words []string
	for _, e := range p.activity(slug) {
		words = append(words, e.GetAction()+" "+e.GetResource().GetId()+" by "+e.GetActor().String())
	}
	for _, d := range deliveries.GetDeliveries() {
		words = append(words, d.GetId()+" "+d.GetStatus().String())
	}
	return strings.Join(words, "\n")
}

func TestEveryFormNeedsTheTokenOfItsSession(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		o := p.fill("one")
		r, other := p.signedIn("one"), p.signedIn("one")
		own, foreign := r.token(), other.token()
		require.NotEqual(t, own, foreign)
		before := p.state("one")
		for _, path := range append(forms(o), "/keys", "/webhooks", "/sign-out") {
			form := func(token ...string) url.Values {
				v := url.Values{"csrf": token, "name": {"n"}, "scopes": {"store:read"}, "lifetime": {"30d"}}
				for i := 0; i < len(filled); i += 2 {
					v.Set(filled[i], filled[i+1])
				}
				return v
			}
			for because, a := range map[string]answer{
				"no token":                     r.send(http.MethodPost, path, form()),
				"an empty token":               r.send(http.MethodPost, path, form("")),
				"the token of another session": r.send(http.MethodPost, path, form(foreign)),
				"a token in the address":       r.send(http.MethodPost, path+"?csrf="+own, form()),
				"a page of another site":       r.send(http.MethodPost, path, form(own), "Sec-Fetch-Site", "cross-site"),
				"a page of a sister site":      r.send(http.MethodPost, path, form(own), "Sec-Fetch-Site", "same-site"),
				"another origin":               r.send(http.MethodPost, path, form(own), "Origin", "https://evil.example"),
				"an origin that hides itself":  r.send(http.MethodPost, path, form(own), "Origin", "null"),
			} {
				require.Equal(t, http.StatusForbidden, a.status, "%s: %s", path, because)
				require.Contains(t, a.text, "This form was not accepted", path)
			}
			a := p.reader().send(http.MethodPost, path, form(own))
			require.Equal(t, http.StatusUnauthorized, a.status, "%s: nobody is signed in", path)
		}
		require.Equal(t, before, p.state("one"), "nothing was done")
		a := r.send(http.MethodPost, "/keys/"+o.key+"/revoke", url.Values{"csrf": {own}}, "Sec-Fetch-Site", "same-origin")
		require.Equal(t, http.StatusSeeOther, a.status, "its own pages' forms are accepted")
		require.Contains(t, p.logs.String(), "refused a form without the session's token")
	})
}

func TestLinkWorksOnceAndIsNotUsedUpByLooking(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		link := p.link("one")
		r := p.reader()
		for range 3 {
			a := r.get("/sign-in?token=" + link)
			require.Equal(t, http.StatusOK, a.status)
			require.Contains(t, a.text, "Sign in to Store one")
		}
		require.Equal(t, http.StatusUnauthorized, r.get("/keys").status)
		foreign := r.send(http.MethodPost, "/sign-in", url.Values{"token": {link}}, "Sec-Fetch-Site", "cross-site")
		require.Equal(t, http.StatusForbidden, foreign.status, "no other site signs a reader in")

		a := r.send(http.MethodPost, "/sign-in", url.Values{"token": {link}})
		require.Equal(t, http.StatusSeeOther, a.status)
		require.Equal(t, "/dashboard/", a.location)
		cookie := a.header.Get("Set-Cookie")
		require.Regexp(t, `^storefront_session=[\w-]{43}; Path=/dashboard; Max-Age=43200; HttpOnly; SameSite=Lax$`, cookie)
		require.Contains(t, r.get("/keys").text, "Awa Ngo")

		for _, form := range []url.Values{{"token": {link}}, {"token": {"x"}}, {}} {
			again := p.reader().send(http.MethodPost, "/sign-in", form)
			require.Equal(t, http.StatusGone, again.status)
			require.Empty(t, again.header.Get("Set-Cookie"))
		}
		require.Equal(t, http.StatusGone, p.reader().get("/sign-in?token="+link).status)
		in := p.reader().send(http.MethodPost, "/sign-in?token="+p.link("one"), url.Values{})
		require.Equal(t, http.StatusGone, in.status, "the address alone signs nobody in")

		out := r.post("/sign-out")
		require.Equal(t, http.StatusSeeOther, out.status)
		require.Contains(t, out.header.Get("Set-Cookie"), "Max-Age=0")
		kept, _, _ := strings.Cut(cookie, ";")
		require.Equal(t, http.StatusUnauthorized, p.reader().send(http.MethodGet, "/keys", nil, "Cookie", kept).status,
			"the cookie's copy is over too")
		require.NotContains(t, p.logs.String(), link)
	})
}

func TestEveryAnswerProtectsItself(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	p := newPlace(t, d)
	r := p.signedIn("one")
	for _, a := range []answer{
		p.reader().get("/keys"), p.reader().get("/sign-in"), p.reader().get(""), r.get("/"), r.get("/keys"), r.get("/keys/new"),
		r.get("/webhooks"),
		r.get("/deliveries"), r.get("/activity"), r.get("/nothing"), r.send(http.MethodPost, "/keys", nil), r.send(http.MethodPut,
			"/keys", nil),
		r.get("/static/nothing.js"),
	} {
		for name, value := range map[string]string{
			"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "strict-origin",
			"Cache-Control": "no-store",
		} {
			require.Equal(t, value, a.header.Get(name))
		}
		policy := a.header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'; script-src 'self'; style-src 'self'")
		require.Contains(t, policy, "frame-ancestors 'none'")
		require.NotContains(t, policy, "unsafe")
		// The pages obey their Content-Security-Policy, and load nothing from other hosts.
		require.NotRegexp(t, `(?i)<script>|\son\w+=|\sstyle=|<style|src="http|href="//|href="http`, a.text)
	}
	styles := regexp.MustCompile(`/dashboard(/static/style\.css\?v=\w+)`).FindStringSubmatch(r.get("/keys").text)
	require.NotNil(t, styles)
	a := p.reader().get(styles[1])
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.header.Get("Cache-Control"), "immutable")
	require.Equal(t, "text/css; charset=utf-8", a.header.Get("Content-Type"))
}

func TestSecretsAreShownOnceAndInNoAddress(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		r := p.signedIn("one")
		created := r.post("/keys", "name", "CRM", "scopes", "orders:read", "scopes", "customers:write", "lifetime", "30d")
		require.Equal(t, http.StatusOK, created.status)
		require.Equal(t, "no-store", created.header.Get("Cache-Control"))
		key := regexp.MustCompile(`svc_live_[0-9A-Za-z]{42}`).FindString(created.text)
		require.NotEmpty(t, key)
		registered := r.post("/webhooks", "url", "https://shop.example.com/hooks", "events", "order.paid")
		require.Equal(t, http.StatusOK, registered.status)
		secret := regexp.MustCompile(`whsec_[\w-]{43}`).FindString(registered.text)
		require.NotEmpty(t, secret)
		id := regexp.MustCompile(`/dashboard/webhooks/([0-9a-f-]{36})`).FindStringSubmatch(registered.text)[1]
		rotated := r.post("/webhooks/" + id + "/rotate")
		next := regexp.MustCompile(`whsec_[\w-]{43}`).FindString(rotated.text)
		require.NotEqual(t, secret, next)
		keys, err := p.operator.ListKeys(t.Context(), &adminv1.ListKeysRequest{Store: "one"})
		require.NoError(t, err)
		require.Equal(t, []string{"customers:write", "orders:read"}, keys.GetKeys()[0].GetScopes())
		for _, path := range []string{"/keys", "/webhooks", "/webhooks/" + id, "/webhooks/" + id + "/edit", "/activity",
			"/keys/" + keys.GetKeys()[0].GetId() + "/revoke"} {
			text := r.get(path).text
			for _, canary := range []string{key, secret, next} {
				require.NotContains(t, text, canary, path)
			}
		}
		for _, canary := range []string{key, secret, next} {
			require.NotContains(t, p.logs.String(), canary)
		}
		newest := p.activity("one")[0]
		require.Equal(t, "webhook.secret_rotated", newest.GetAction())
		require.Equal(t, adminv1.ActivityEntry_Actor_member, newest.GetActor().GetType())
		require.Equal(t, "Awa Ngo", newest.GetActor().GetName())
	})
}

func TestWrongFormsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	p := newPlace(t, d)
	o := p.fill("one")
	r := p.signedIn("one")
	for _, row := range []struct {
		because, path string
		fields        []string
		status        int
		want          string
	}{
		{"no name", "/keys", []string{"scopes", "store:read", "lifetime", "30d"}, 422, "Name: Must name the tool that uses the key."},
		{"no scope", "/keys", []string{"name", "n", "lifetime", "30d"}, 422, "Choose at least one."},
		{"a scope that there is not", "/keys", []string{"name", "n", "scopes", "orders:write", "lifetime", "30d"}, 422,
			"not &#34;orders:write&#34;"},
		{"no expiry", "/keys", []string{"name", "n", "scopes", "store:read"}, 422, "Must be 30 days, 90 days, 1 year or never."},
		{"plain http", "/webhooks", []string{"url", "http://shop.example.com/", "events", "order.paid"}, 422, `id="url-wrong"`},
		{"a private address", "/webhooks", []string{"url", "https://10.0.0.1/", "events", "order.paid"}, 422, `id="url-wrong"`},
		{"a user name", "/webhooks", []string{"url", "https://a@shop.example.com/", "events", "order.paid"}, 422, `id="url-wrong"`},
		{"no event, which means none and not all", "/webhooks", []string{"url", "https://shop.example.com/"}, 422,
			"Choose at least one."},
		{"ping cannot be subscribed to", "/webhooks", []string{"url", "https://shop.example.com/", "events", "ping"}, 422,
			"not &#34;ping&#34;"},
		{"no event left", "/webhooks/" + o.webhook + "/edit", []string{"url", "https://shop.example.com/"}, 422,
			"Choose at least one."},
		{"what was typed stays", "/webhooks", []string{"url", "https://10.0.0.1/x", "description", `<b>"mine"`, "events", "order.paid"},
			422, "&lt;b&gt;&#34;mine&#34;"},
		{"a time that is none", "/webhooks/" + o.webhook + "/resend", []string{"since", "yesterday"}, 422, "Must be a date and time"},
		{"no time", "/webhooks/" + o.webhook + "/resend", nil, 422, "Since: Must be one of the choices."},
		{"a form that is too long", "/keys", []string{"name", strings.Repeat("n", 100<<10)}, 413, "too large"},
	} {
		t.Run(row.because, func(t *testing.T) {
			a := r.post(row.path, row.fields...)
			require.Equal(t, row.status, a.status)
			require.Contains(t, a.text, row.want)
		})
	}
	for len(mustList(t, p)) < webhooks.Max {
		require.Equal(t, http.StatusOK, r.post("/webhooks", "url", "https://shop.example.com/", "events", "order.paid").status)
	}
	a := r.post("/webhooks", "url", "https://shop.example.com/", "events", "order.paid")
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	require.Contains(t, a.text, "which is the limit")
	for _, path := range []string{"/deliveries?status=lost", "/deliveries?type=lost", "/deliveries?before=x", "/activity?before=x"} {
		require.Equal(t, http.StatusBadRequest, r.get(path).status, path)
	}
	require.Equal(t, http.StatusNotFound, r.get("/deliveries?webhook=x").status)
}

func mustList(t *testing.T, p place) []*adminv1.Webhook {
	t.Helper()
	all, err := p.operator.ListWebhooks(t.Context(), &adminv1.ListWebhooksRequest{Store: "one"})
	require.NoError(t, err)
	return all.GetWebhooks()
}

func TestJournalsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		o := p.fill("one")
		for range 30 {
			_, err := p.operator.PingWebhook(t.Context(), &adminv1.PingWebhookRequest{Id: o.webhook})
			require.NoError(t, err)
		}
		for range 13 {
			for _, do := range []func() error{
				func() error {
					_, err := p.operator.DisableWebhook(t.Context(), &adminv1.DisableWebhookRequest{Id: o.webhook})
					return err
				},
				func() error {
					_, err := p.operator.EnableWebhook(t.Context(), &adminv1.EnableWebhookRequest{Id: o.webhook})
					return err
				},
			} {
				require.NoError(t, do())
			}
		}
		r := p.signedIn("one")
		older := regexp.MustCompile(`rel="next" href="/dashboard([^"]+)"`)
		for path, entry := range map[string]*regexp.Regexp{
			"/deliveries?status=cancelled&type=ping&webhook=" +
				o.webhook: regexp.MustCompile(`href="/dashboard/deliveries/([0-9a-f-]{36})"`),
			"/activity": regexp.MustCompile(`<h2>([^<]+)</h2>`),
		} {
			count, sizes := 0, []int{}
			for path != "" {
				a := r.get(strings.ReplaceAll(path, "&amp;", "&"))
				require.Equal(t, http.StatusOK, a.status, path)
				n := len(entry.FindAllString(a.text, -1))
				count, sizes = count+n, append(sizes, n)
				next := older.FindStringSubmatch(a.text)
				path = ""
				if next != nil {
					path = next[1]
				}
			}
			require.GreaterOrEqual(t, len(sizes), 2, "%v", sizes)
			require.Equal(t, 25, sizes[0])
			require.GreaterOrEqual(t, count, 29)
		}
		require.Contains(t, r.get("/deliveries?status=succeeded").text, "No delivery matches.")
	})
}

func TestDeliveryShowsWhatWasSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		o := p.fill("one")
		r := p.signedIn("one")
		a := r.get("/deliveries/" + o.delivery)
		require.Contains(t, a.text, `data-live="pending 0"`, "its attempt is near")
		require.Contains(t, a.text, `<noscript><meta http-equiv="refresh" content="3"></noscript>`)
		found, err := p.operator.GetDelivery(t.Context(), &adminv1.GetDeliveryRequest{Id: o.delivery})
		require.NoError(t, err)
		require.Equal(t, found.GetPayload(), r.get("/deliveries/"+o.delivery+"/payload").text, "byte for byte")
	})
}

func TestEventsCarryTheRequestOfThePage(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		o := p.fill("one")
		a := p.signedIn("one").post("/webhooks/" + o.webhook + "/ping")
		require.Equal(t, http.StatusSeeOther, a.status, a.text)
		request := a.header.Get("X-Request-Id")
		ping := d.Client().Event.Query().Where(event.Type("ping"), event.RequestIDNotNil()).OnlyX(t.Context())
		require.Equal(t, request, ping.RequestID.String())
		require.Eventually(t, func() bool {
			return regexp.MustCompile(`msg="dashboard request" request_id=` + request + ` method=POST .* status=303 .*event_ids=\[` +
				ping.ID.String() + `]`).
				MatchString(p.logs.String())
		}, time.Minute, time.Millisecond, "the line is written after the answer")
		require.NotContains(t, p.logs.String(), "token=")
	})
}
