//go:build browser

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	tab "github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/dashboard/signin"
	slots "go.storefront.example/server/limit"
	"go.storefront.example/worker/signature"
)

// owners is a store owner's server. It verifies deliveries, and answers the status that the test sets.
type owners struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	status int
	got    []string
}

func newOwners(t *testing.T) *owners {
	o := &owners{status: http.StatusOK}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		o.mu.Lock()
		defer o.mu.Unlock()
		if err == nil {
			err = signature.Verify(r.Header.Get(signature.Header), body, o.secret, time.Now(), signature.Tolerance)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		o.got = append(o.got, r.Header.Get(signature.EventTypeHeader))
		w.WriteHeader(o.status)
		if o.status >= http.StatusInternalServerError {
			_, _ = io.WriteString(w, "the shop's database is away")
		}
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *owners) set(secret string, status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if secret != "" {
		o.secret = secret
	}
	o.status = status
}

func (o *owners) received() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.got...)
}

func TestDashboardInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	dev := startCommand(t, "}", devArgs(t.TempDir(), "-o", "json")...)
	defer func() { require.Equal(t, 0, dev.stop()) }()
	var said struct{ URL, AdminURL, Dashboard, Key string }
	require.NoError(t, json.Unmarshal([]byte(dev.said), &said))

	b.open(said.AdminURL + "/dashboard/keys")
	b.heading("Please sign in")
	b.see("signed-out")
	b.open(said.Dashboard)
	b.heading("Sign in to Atelier Mboa")
	b.see("sign-in")
	b.press("Sign in", "Overview")
	require.Empty(t, value[string](b, "document.cookie"), "the session is out of scripts' reach")
	b.shows(`//p[contains(., "was never used")]`)
	b.see("overview")
	b.press("API keys", "API keys")
	b.see("keys")
	b.run(chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "Skip to the content", value[string](b, "document.activeElement.textContent"),
		"the first key leads past the navigation")
	b.run(chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "main", value[string](b, "document.activeElement.id"))

	b.press("Create API key", "Create an API key")
	b.see("key-new")
	b.fill("name", "CRM")
	b.press("Create key", "Create an API key")
	b.shows(`//*[@role="alert"]`)
	require.Equal(t, "scopes", value[string](b, "document.activeElement.id"), "the first bad field has the focus")
	b.see("key-new-wrong")
	b.run(click(`input[value="products:read"]`), click(`input[value="customers:write"]`), click(`input[value="30d"]`))
	b.press("Create key", "Your new API key")
	b.see("key-created")
	key := value[string](b, `document.getElementById("secret").value`)
	status, _ := get(t, said.URL+"/v1/products", "Bearer "+key)
	require.Equal(t, http.StatusOK, status)
	status, _ = get(t, said.URL+"/v1/products?pageSize=0", "Bearer "+key)
	require.Equal(t, http.StatusBadRequest, status)
	b.run(click(`[data-copy=secret]`))
	b.shows(`//button[normalize-space(.)="Copied"] | //*[@id="live"][contains(., "copy keys")]`)
	b.run(chromedp.Reload())
	b.heading("This key was created already")
	b.see("key-repeated")
	b.press("To the API keys", "API keys")
	require.NotContains(t, value[string](b, "document.documentElement.outerHTML"), key, "shown once")
	require.Equal(t, 2, value[int](b, `document.querySelectorAll("tbody tr").length`), "the key of dev and this one")
	_, err := chromedp.Run(b.ctx, chromedp.NavigateBack())
	require.ErrorContains(t, err, "ERR_CACHE_MISS", "the browser asks before it sends the form again")
	b.run(chromedp.Reload())
	b.heading("Create an API key")
	b.press("API keys", "API keys")
	require.Equal(t, 2, value[int](b, `document.querySelectorAll("tbody tr").length`), "nor does the way back make another")
	shown := value[string](b, `document.querySelector("td time").textContent`)
	require.Contains(t, shown, "GMT+1", "in the reader's zone")
	require.Contains(t, value[string](b, `document.querySelector("td time").title`), "UTC")

	b.press("Revoke CRM", "Revoke this key?")
	require.True(t, value[bool](b, `document.getElementById("dialog").open`), "asked in a dialog")
	b.see("key-revoke-dialog")
	b.run(click("[data-cancel]"))
	require.False(t, value[bool](b, `document.getElementById("dialog").open`))
	require.Contains(t, value[string](b, "document.activeElement.textContent"), "Revoke", "the focus is back")
	b.open(value[string](b, "document.activeElement.href"))
	b.heading("Revoke this key?")
	b.see("key-revoke")
	b.press("Revoke key", "API keys")
	b.shows(`//*[@role="status"][contains(., "revoked")]`)
	b.see("keys-revoked")
	slowdown := func(factor float64) step {
		return order(emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: factor})
	}
	b.run(slowdown(20))
	for range 4 {
		b.run(chromedp.Reload())
		b.heading("API keys")
		require.Zero(t, value[float64](b, layoutShift), "nothing moves while the page loads slowly")
	}
	b.run(slowdown(1))
	status, body := get(t, said.URL+"/v1/products", "Bearer "+key)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, "api_key_revoked", body["code"])

	o := newOwners(t)
	b.press("Webhooks", "Webhooks")
	b.see("webhooks")
	b.press("Add webhook", "Add a webhook")
	b.see("webhook-new")
	b.fill("url", "https://user:password@shop.example/")
	b.press("Add webhook", "Add a webhook")
	b.shows(`//*[@id="url-wrong"]`)
	require.Equal(t, "url", value[string](b, "document.activeElement.id"))
	b.see("webhook-new-wrong")
	b.fill("url", o.URL+"/webhooks/"+strings.Repeat("a-long-path/", 12))
	b.fill("description", "The shop's own server")
	b.press("Add webhook", "Your webhook is registered")
	b.see("webhook-secret")
	o.set(value[string](b, `document.getElementById("secret").value`), http.StatusOK)
	b.press("I have copied it", o.URL)
	b.shows(`//section[contains(., "Nothing was sent to it yet")]//button[.="Send a test event"]`)
	b.see("webhook-empty")
	require.Equal(t, 2, value[int](b, `new Set([...document.querySelectorAll(".chart")].map((c) => Math.round(c.getBoundingClientRect().top))).size`),
		"the four charts stand two by two")
	b.press("Webhooks", "Webhooks")
	b.see("webhooks-long")
	mine := func(on string) step {
		return click(fmt.Sprintf(`//%s/a[contains(., "The shop's own server") or contains(., %q)]`, on, o.URL))
	}
	b.run(mine("h3"))
	b.heading(o.URL)

	b.press("Send a test event", "ping")
	b.shows(`//h1/span[normalize-space(.)="succeeded"]`)
	require.Equal(t, []string{"ping"}, o.received())
	// Reload, because parts of the page moved when the result appeared, and b.see counts that.
	b.run(chromedp.Reload())
	b.shows(`//h1/span[normalize-space(.)="succeeded"]`)
	b.see("delivery-succeeded")

	o.set("", http.StatusInternalServerError)
	newCustomer(t, said.URL, said.Key, "nadege@example.com")
	failing := func() bool {
		b.open(said.AdminURL + "/dashboard/deliveries?type=customer.created&status=retrying")
		return value[bool](b,
			`[...document.querySelectorAll("tr")].some((r) => r.textContent.includes("The shop's own server") && r.textContent.includes("500"))`)
	}
	require.Eventually(t, failing, browserTime, 200*time.Millisecond)
	b.shows(`//tr[contains(., "Nadège Fotso") and contains(., "retrying, next in ")]`)
	b.see("deliveries")
	b.run(click(`//tr[contains(., "The shop's own server")]//a[contains(., "customer.created")]`))
	b.heading("customer.created")
	b.shows(`//h1/span[contains(., "retrying, next in ")]`)
	b.shows(`//td[contains(., "failed")]`)
	b.shows(`//td[contains(., "500") and contains(., "own code failed")]`)
	b.run(click("//td//summary"))
	b.shows(`//td//pre[contains(., "the shop's database is away")]`)
	b.shows(`//dt[.="Next attempt"]`)
	b.see("delivery-failing")
	b.run(mine("dd"))
	b.heading(o.URL)
	b.shows(`//*[contains(@class, "warn")][contains(., "disabled automatically") and contains(., "in 2 d 23 h")]`)
	b.shows(`//p[contains(., "1 delivery waits for another attempt, the next in ")]`)
	b.see("webhook-failing")
	b.press("Webhooks", "Webhooks")
	b.shows(`//nav//li[contains(., "Webhooks") and contains(., "1 failing")]`)
	b.see("webhooks-failing")
	b.press("Overview", "Overview")
	b.shows(`//p[contains(., "The shop's own server") and contains(., "has failed since")]`)
	b.see("overview-failing")

	// Send a webhook's waiting deliveries at once, then one on its own page, which shows each attempt without a reload.
	b.run(mine("h3"))
	b.heading(o.URL)
	b.press("Send now", o.URL)
	b.shows(`//*[@role="status"][contains(., "1 delivery is sent now")]`)
	waits := said.AdminURL + "/dashboard/deliveries?type=customer.created&status=retrying"
	require.Eventually(t, func() bool {
		b.open(waits)
		return value[bool](b, `document.querySelector("tbody tr")?.textContent.includes("no. 2") ?? false`)
	}, browserTime, 200*time.Millisecond)
	b.run(click(`//tr[contains(., "The shop's own server")]//a[contains(., "customer.created")]`))
	b.heading("customer.created")
	b.press("Send now", "customer.created")
	b.shows(`//*[@role="status"][contains(., "next attempt is made now")]`)
	b.shows(`//tr[@id="attempt-3"]`)
	b.run(mine("dd"))
	b.heading(o.URL)

	b.press("Send a test event", "ping")
	b.shows(`//h1/span[normalize-space(.)="failed"]`)
	b.see("delivery-failed")
	o.set("", http.StatusNoContent)
	b.run(click(".head button"))
	b.shows(`//*[@role="status"][contains(., "new delivery")]`)
	b.shows(`//h1/span[normalize-space(.)="succeeded"]`)

	// Disabling a webhook cancels its deliveries. Once it is enabled again, the dashboard sends their events again.
	b.run(mine("dd"))
	b.heading(o.URL)
	b.press("Disable", "Disable this webhook?")
	b.see("webhook-disable-dialog")
	b.press("Disable webhook", o.URL)
	b.shows(`//*[@role="status"][contains(., "is disabled")]`)
	b.see("webhook-disabled")
	b.press("Enable", o.URL)
	b.shows(`//*[@role="status"][contains(., "is enabled")]`)
	b.press("Send again", "Send these events again?")
	b.see("webhook-resend")
	b.press("Send again", o.URL)
	b.shows(`//*[@role="status"][contains(., "on the way again")]`)
	b.see("webhook-resent")
	require.Eventually(t, func() bool { return slices.Contains(o.received()[3:], "customer.created") }, browserTime,
		50*time.Millisecond)

	b.press("New secret", "Make a new signing secret?")
	require.Equal(t, 1, value[int](b, `(() => {
  let sent = 0;
  addEventListener("submit", (event) => { sent += event.defaultPrevented ? 0 : 1; event.preventDefault(); });
  const form = document.querySelector("#dialog form");
  form.requestSubmit();
  form.requestSubmit();
  return sent;
})()`), "a form is sent once")
	b.run(chromedp.Reload())
	b.press("New secret", "Make a new signing secret?")
	b.run(chromedp.DoubleClick(`//*[@id="dialog"]//button[normalize-space(.)="Make a new secret"]`))
	b.heading("Your new signing secret")
	secret := value[string](b, `document.getElementById("secret").value`)
	require.Regexp(t, `^whsec_`, secret, "two clicks show what the first one made")
	b.run(chromedp.Reload())
	b.heading("The new secret was made already")
	b.press("To the webhook", o.URL)
	b.press("Send a test event", "ping")
	b.shows(`//td[contains(., "401")]`)
	o.set(secret, http.StatusOK)
	b.run(click(".head button"))
	b.shows(`//*[@role="status"][contains(., "new delivery")]`)
	b.shows(`//h1/span[normalize-space(.)="succeeded"]`)

	b.run(mine("dd"))
	b.heading(o.URL)
	b.press("Edit", "Edit the webhook")
	b.see("webhook-edit")
	b.run(click(`input[name="events"][value="product.archived"]`))
	b.press("Save changes", o.URL)
	b.shows(`//*[@role="status"][contains(., "saved")]`)
	require.Eventually(t, func() bool {
		b.run(chromedp.Reload())
		return value[bool](b, `document.querySelectorAll(".chart svg rect.ko").length > 0`)
	}, browserTime, 500*time.Millisecond, "the attempts are drawn within seconds")
	b.see("webhook-charts")
	b.press("Delete", "Delete this webhook?")
	b.press("Delete webhook", "Webhooks")
	b.shows(`//*[@role="status"][contains(., "deleted")]`)

	b.press("Deliveries", "Deliveries")
	b.shows(`//td[contains(., "deleted")]`)
	b.see("deliveries-all")
	// The list shows new events without a reload. The period is in the reader's time zone.
	newest := value[string](b, `document.getElementById("list").dataset.live`)
	value[bool](b, `(() => { window.row = document.querySelector("tbody tr"); row.querySelector("a").focus(); getSelection().selectAllChildren(row.querySelector("time")); return true; })()`)
	chosen := value[string](b, "getSelection().toString()")
	newCustomer(t, said.URL, said.Key, "late@example.com")
	b.shows(fmt.Sprintf(`//*[@id="list"][@data-live!=%q]//tr[1]//a[contains(., "customer.created")]`, newest))
	require.True(t, value[bool](b, `row.isConnected && row.contains(document.activeElement)`),
		"what was there stays and keeps the focus")
	require.Equal(t, chosen, value[string](b, "getSelection().toString()"), "and the selection")
	first := value[string](b, `document.querySelector("tbody tr").id`)
	value[bool](b, `(() => { const link = document.querySelector("tbody tr:nth-child(2) a"); link.scrollIntoView({ block: "center" }); const at = link.getBoundingClientRect(); window.at = [at.x + 5, at.y + 5]; return true; })()`)
	value[bool](b, `(() => { window.looked = 0; const real = fetch; window.fetch = async (...of) => { const got = await real(...of); looked++; return got; }; return true; })()`)
	newCustomer(t, said.URL, said.Key, "later@example.com")
	require.Eventually(t, func() bool {
		return value[bool](b,
			`fetch(location.href).then((r) => r.text()).then((text) => !text.split("<tbody")[1].split("</tr>")[0].includes("`+first+`"))`)
	}, browserTime, 50*time.Millisecond)
	value[int](b, "looked = 0")
	require.Eventually(t, func() bool {
		b.run(chromedp.MouseEvent(chromedp.MouseMoved, value[float64](b, "at[0]++"), value[float64](b, "at[1]")))
		return value[int](b, "looked") >= 2
	}, browserTime, 200*time.Millisecond)
	require.Equal(t, first, value[string](b, `document.querySelector("tbody tr").id`), "nothing comes while a hand is over a row")
	b.run(chromedp.MouseEvent(chromedp.MouseMoved, 5, 5))
	b.shows(fmt.Sprintf(`//tbody/tr[1][@id!=%q]`, first))
	b.fill("q", "LATE@example")
	value[bool](b, `(() => { const since = document.getElementById("since"); since.value = "2026-01-02T03:04:05"; since.dispatchEvent(new Event("input")); return true; })()`)
	b.press("Search", "Deliveries")
	b.shows(`//p[contains(., "Searched back to")]`)
	require.Contains(t, value[string](b, "location.search"), "since=2026-01-02T02%3A04%3A05.000Z",
		"a time in the reader's zone is sent in UTC")
	require.Equal(t, "2026-01-02T03:04:05", value[string](b, `document.getElementById("since").value`))
	require.Equal(t, 1, value[int](b, `document.querySelectorAll("tbody tr").length`))
	require.Equal(t, []string{"From (your time zone)", "Until (your time zone)"},
		value[[]string](b, `[...document.querySelectorAll("label[for=since], label[for=until]")].map((l) => l.textContent)`),
		"as the foot of the page says")
	b.see("deliveries-found")
	b.press("Events", "Events")
	b.shows(`//li[contains(., "customer.created") and contains(., "Nadège Fotso")]//ul/li[contains(., "succeeded")]`)
	b.see("events")
	b.press("What the types mean", "Event types")
	b.see("event-types")
	b.run(click("//summary"))
	b.shows(`//pre[contains(., '"type": "order.paid"')]`)
	b.see("event-types-opened")
	b.press("Requests", "Requests")
	b.shows(`//tr[contains(., "GET /v1/products") and contains(., "validation_failed") and contains(., "pageSize")]`)
	b.see("requests")
	require.NotContains(t, value[string](b, "document.body.textContent"), "details.fields")
	b.press("Activity", "Activity")
	b.shows(`//li[contains(., "Webhook deleted") and contains(., "Developer")]`)
	require.Zero(t, value[int](b,
		`[...document.querySelectorAll("main *")].filter((e) => !e.children.length && /^[0-9a-f]{8}-[0-9a-f]{4}-/.test(e.textContent.trim())).length`), "bare ids")
	require.Regexp(t, `\d\d:\d\d:\d\d GMT\+1$`, value[string](b, `document.querySelector(".log time").textContent`))
	b.see("activity")
	value[bool](b, `(() => { document.getElementById("kind").value = "webhook"; document.getElementById("by").value = "member"; return true; })()`)
	b.press("Search", "Activity")
	b.shows(`//a[normalize-space(.)="Show all"]`)
	require.True(t, value[bool](b,
		`[...document.querySelectorAll(".log > li")].every((e) => e.textContent.includes("Webhook") && e.textContent.includes("Member"))`))
	b.see("activity-found")
	b.press("Show all", "Activity")
	b.shows(`//a[normalize-space(.)="Older"]`)
	b.press("Older", "Activity")
	b.shows(`//a[normalize-space(.)="Newest"]`)
	b.open(said.AdminURL + "/dashboard/nothing")
	b.heading("Not found")
	b.see("not-found")
	elsewhere := signedInElsewhere(t, said.AdminURL)
	require.Equal(t, http.StatusOK, elsewhere())
	b.press("To the overview", "Overview")
	b.press("Sign out everywhere", "Sign out everywhere?")
	b.see("sign-out-everywhere-dialog")
	b.run(click("[data-cancel]"))
	require.Equal(t, http.StatusOK, elsewhere(), "asking ends nothing")
	b.open(said.AdminURL + "/dashboard/sign-out-everywhere")
	b.heading("Sign out everywhere?")
	b.see("sign-out-everywhere")
	b.run(click("#ask button"))
	b.heading("You are signed out everywhere")
	require.Equal(t, http.StatusUnauthorized, elsewhere())
	b.open(said.AdminURL + "/dashboard/keys")
	b.heading("Please sign in")
	b.open(said.Dashboard)
	b.heading("This link no longer works")
	b.see("link-over")

	b.open(newLink(t, said.AdminURL, said.AdminURL))
	b.heading("Sign in to Atelier Mboa")
	b.press("Sign in", "Overview")
	b.press("Sign out", "You are signed out")
	b.open(said.AdminURL + "/dashboard/keys")
	b.heading("Please sign in")
}

// newLink returns an address below base that signs in to the dashboard at adminURL.
func newLink(t *testing.T, adminURL, base string) string {
	t.Helper()
	var out, errs bytes.Buffer
	noEnv := func(string) (string, bool) { return "", false }
	require.Equal(t, 0, run(t.Context(), []string{
		"dashboard", "link", "--store", demoSlug, "--member", devMember, "--role", "owner", "--admin-url", adminURL, "--url", base,
		"-o", "json",
	}, noEnv, strings.NewReader(""), &out, &errs), &errs)
	var link struct{ URL string }
	require.NoError(t, json.Unmarshal(out.Bytes(), &link))
	return link.URL
}

func signedInElsewhere(t *testing.T, adminURL string) func() int {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	_, token, _ := strings.Cut(newLink(t, adminURL, adminURL), "token=")
	in, err := client.PostForm(adminURL+"/dashboard/sign-in", url.Values{"token": {token}})
	require.NoError(t, err)
	require.NoError(t, in.Body.Close())
	return func() int {
		answer, err := client.Get(adminURL + "/dashboard/keys")
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
}

func newCustomer(t *testing.T, url, key, email string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/customers",
		strings.NewReader(`{"name":"Nadège Fotso","email":"`+email+`"}`))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusCreated, answer.StatusCode)
}

// With STOREFRONT_SCREENSHOTS this saves dashboard.png for the README. Copy it to server/dashboard when the pages' look
// changes.
func TestPictureOfTheDashboardInABrowser(t *testing.T) {
	t.Parallel()
	picture, err := os.Stat("../../server/dashboard/dashboard.png")
	require.NoError(t, err)
	require.Less(t, picture.Size(), int64(150<<10), "the README is read by people on telephones")
	b := newBrowser(t)
	dev := startCommand(t, "}", devArgs(t.TempDir(), "-o", "json")...)
	defer func() { require.Equal(t, 0, dev.stop()) }()
	var said struct{ URL, AdminURL, Dashboard, Key string }
	require.NoError(t, json.Unmarshal([]byte(dev.said), &said))
	newCustomer(t, said.URL, said.Key, "nadege@example.com")
	noEnv := func(string) (string, bool) { return "", false }
	kinds := []string{"product.published", "order.failed", "order.paid"}
	for _, kind := range kinds {
		var out, errs bytes.Buffer
		require.Equal(t, 0, run(t.Context(), []string{"trigger", kind, "--store", demoSlug, "--admin-url", said.AdminURL, "--yes"}, noEnv,
			strings.NewReader(""), &out, &errs), &errs)
	}
	b.open(said.Dashboard)
	b.press("Sign in", "Overview")
	b.press("Deliveries", "Deliveries")
	for _, kind := range append(kinds, "customer.created") {
		b.shows(fmt.Sprintf(`//tr[contains(., %q) and contains(., "succeeded")]`, kind))
	}
	b.run(chromedp.EmulateViewport(1100, 980))
	b.window("dashboard")
}

func TestEmptyPagesInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	o := admin.New(d, admin.Options{})
	_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "Douala", Slug: "douala", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	served := httptest.NewServer(dashboard.New(dashboard.Config{
		Operator: o, Sessions: signin.New(d), Now: d.Now, Unreachable: db.IsUnreachable, Logger: slog.New(slog.DiscardHandler), Slots: slots.NewSlots(4, 2),
	}))
	t.Cleanup(served.Close)
	link, err := o.CreateSignInLink(t.Context(), &adminv1.CreateSignInLinkRequest{Store: "douala", Member: "Awa Ngo",
		Role: adminv1.Session_owner, BaseUrl: served.URL})
	require.NoError(t, err)
	b.open(link.GetUrl())
	b.press("Sign in", "Overview")
	b.see("empty-overview")
	for _, page := range []string{"API keys", "Webhooks", "Events", "Deliveries", "Requests", "Activity"} {
		b.press(page, page)
		b.see("empty-" + strings.ToLower(page))
	}
}

// The owner stays signed in to the dashboard in a frame of another site.
func TestDashboardInAFrameInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, chromedp.Flag("ignore-certificate-errors", true),
		chromedp.Flag("host-resolver-rules", "MAP localhost 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	o := admin.New(d, admin.Options{})
	_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "Douala", Slug: "douala", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	frame := ""
	platform := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Platform</title><iframe src="%s" width="1000" height="700"></iframe>`, frame)
	}))
	t.Cleanup(platform.Close)
	pages, err := dashboard.Platform{FrameAncestors: []string{platform.URL}}.Check()
	require.NoError(t, err)
	served := httptest.NewTLSServer(dashboard.New(dashboard.Config{
		Operator: o, Sessions: signin.New(d), Now: d.Now, Unreachable: db.IsUnreachable, Logger: slog.New(slog.DiscardHandler), Slots: slots.NewSlots(4, 2),
		Platform: pages,
	}))
	t.Cleanup(served.Close)
	base := strings.Replace(served.URL, "127.0.0.1", "localhost", 1)
	link, err := o.CreateSignInLink(t.Context(), &adminv1.CreateSignInLinkRequest{Store: "douala", Member: "Awa Ngo",
		Role: adminv1.Session_owner, BaseUrl: base})
	require.NoError(t, err)
	frame = link.GetUrl()

	b.open(platform.URL)
	// A frame of another site is a target of its own, which scripts of the outer page cannot reach.
	var within cdptarget.ID
	require.Eventually(t, func() bool {
		all, err := chromedp.Targets(b.ctx)
		at := slices.IndexFunc(all, func(i *cdptarget.Info) bool { return i.Type == "iframe" && strings.HasPrefix(i.URL, base) })
		if err == nil && at >= 0 {
			within = all[at].TargetID
		}
		return within != ""
	}, browserTime, 100*time.Millisecond)
	inFrame, leave := chromedp.NewContext(b.ctx, chromedp.WithTargetID(within))
	defer leave()
	_, err = chromedp.Run(inFrame, chromedp.Click("form button"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return d.Client().Session.Query().CountX(t.Context()) == 1 }, browserTime,
		100*time.Millisecond)
	early := d.Now().Add(time.Hour)
	_, err = d.Writer().ExecContext(t.Context(), "UPDATE sessions SET expires_at = $1", early)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		value[bool](b, fmt.Sprintf(`(() => { frames[0].postMessage("storefront:keep-alive", %q); return true; })()`, base))
		return d.Client().Session.Query().OnlyX(t.Context()).ExpiresAt.After(early)
	}, browserTime, 200*time.Millisecond, "its cookie came with the message's request")
	b.picture("frame")
}

// The proxy changes Host and adds no headers, as nginx with `proxy_pass http://127.0.0.1:8081`. Recent browsers send
// Sec-Fetch-Site; those from before 2023 only Origin.
func TestDashboardBehindAProxyInABrowser(t *testing.T) {
	t.Parallel()
	for name, older := range map[string]bool{"recent": false, "older": true} {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t, chromedp.Flag("ignore-certificate-errors", true))
			dev := startCommand(t, "}", devArgs(t.TempDir(), "-o", "json")...)
			defer func() { require.Equal(t, 0, dev.stop()) }()
			var said struct{ AdminURL string }
			require.NoError(t, json.Unmarshal([]byte(dev.said), &said))
			target, err := url.Parse(said.AdminURL)
			require.NoError(t, err)
			var mu sync.Mutex
			var origins, referers, cookies []string
			proxy := httptest.NewTLSServer(&httputil.ReverseProxy{
				Rewrite: func(r *httputil.ProxyRequest) {
					r.SetURL(target)
					if older {
						for name := range r.Out.Header {
							if strings.HasPrefix(name, "Sec-Fetch-") {
								r.Out.Header.Del(name)
							}
						}
					}
					mu.Lock()
					defer mu.Unlock()
					if r.In.Method == http.MethodPost {
						origins = append(origins, r.In.Header.Get("Origin"))
					}
					referers = append(referers, r.In.Header.Get("Referer"))
				},
				ModifyResponse: func(r *http.Response) error {
					mu.Lock()
					defer mu.Unlock()
					cookies = append(cookies, r.Header.Values("Set-Cookie")...)
					return nil
				},
			})
			t.Cleanup(proxy.Close)

			b.open(newLink(t, said.AdminURL, proxy.URL))
			b.heading("Sign in to Atelier Mboa")
			b.press("Sign in", "Overview")
			b.press("API keys", "API keys")
			b.press("Create API key", "Create an API key")
			b.fill("name", "CRM")
			b.run(click(`input[value="products:read"]`))
			b.press("Create key", "Your new API key")
			b.press("I have copied it", "API keys")
			b.press("Sign out", "You are signed out")
			b.open(proxy.URL + "/dashboard/keys")
			b.heading("Please sign in")

			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, []string{proxy.URL, proxy.URL, proxy.URL}, origins)
			require.Len(t, cookies, 2)
			for _, cookie := range cookies {
				require.Regexp(t, `^__Host-storefront_session=[\w-]*; Path=/; .*; Secure`, cookie)
			}
			for _, referer := range referers {
				require.NotContains(t, referer, "token", "no log of a proxy gets a link that was not used")
				require.NotContains(t, referer, "/dashboard", "nor where the reader was")
			}
		})
	}
}

func TestAStoppedFormCanBeSentAgain(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	dev := startCommand(t, "}", devArgs(t.TempDir(), "-o", "json")...)
	defer func() { require.Equal(t, 0, dev.stop()) }()
	var said struct{ AdminURL string }
	require.NoError(t, json.Unmarshal([]byte(dev.said), &said))
	target, err := url.Parse(said.AdminURL)
	require.NoError(t, err)
	through := httputil.NewSingleHostReverseProxy(target)
	var held atomic.Int32
	stopped := make(chan struct{})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/dashboard/keys" && held.Add(1) == 1 {
			_ = r.ParseForm() // net/http notices only after reading the body that the browser has left
			<-r.Context().Done()
			close(stopped)
			return
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)

	b.open(newLink(t, said.AdminURL, proxy.URL))
	b.heading("Sign in to Atelier Mboa")
	b.press("Sign in", "Overview")
	b.press("API keys", "API keys")
	b.press("Create API key", "Create an API key")
	b.fill("name", "CRM")
	b.run(click(`input[value="products:read"]`), click("main form button.primary"))
	require.Eventually(t, func() bool { return held.Load() == 1 }, browserTime, 20*time.Millisecond)
	b.run(order(tab.StopLoading, cdp.Empty{}))
	<-stopped
	b.heading("Create an API key")
	b.press("Create key", "Your new API key")
}
