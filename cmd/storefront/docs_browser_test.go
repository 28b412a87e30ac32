//go:build browser

package main

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	wire "github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// keepsToItself fails if a page requests another origin, breaks its security policy, or logs an error.
func (b *browser) keepsToItself(origins ...string) {
	b.t.Helper()
	own := []string{"data:"}
	for _, origin := range origins {
		own = append(own, origin+"/", "blob:"+origin+"/")
	}
	require.NoError(b.t, chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) {
		case *wire.EventRequestWillBeSent:
			for _, prefix := range own {
				if strings.HasPrefix(e.Request.URL, prefix) {
					return
				}
			}
			b.t.Errorf("the page asks for %s", e.Request.URL)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				b.t.Errorf("the browser reports: %s", e.Entry.Text)
			}
		case *runtime.EventConsoleAPICalled:
			if e.Type == "error" || e.Type == "warning" {
				b.t.Errorf("a script reports (%s): %v", e.Type, e.Args)
			}
		}
	}))
	b.run(order(wire.Enable, wire.EnableParams{}), order(log.Enable, cdp.Empty{}))
}

// top returns an element's distance from the window's top in pixels, once it has stopped moving.
func (b *browser) top(selector string) float64 {
	b.t.Helper()
	return value[float64](b, fmt.Sprintf(`new Promise((done) => {
  let before = NaN;
  const look = () => {
    const now = document.querySelector(%q).getBoundingClientRect().top;
    if (now === before) return done(now);
    before = now;
    setTimeout(look, 100);
  };
  look();
})`, selector))
}

const copyAll = `(async () => {
  const texts = {};
  let last;
  navigator.clipboard.writeText = async (text) => { last = text; };
  for (const sample of document.querySelectorAll("[data-sample]")) {
    sample.querySelector("button.copy").click();
    await 0;
    texts[sample.dataset.sample + " " + sample.dataset.language] = last;
    last = undefined;
  }
  return JSON.stringify(texts);
})()`

const cutOff = `[...document.querySelectorAll("pre")].filter((p) => p.scrollWidth > p.clientWidth).map((p) => p.textContent)`

var shownSample = regexp.MustCompile(
	`(?s)data-language="(\w+)" data-sample="(\w+)"><div class="code"><pre[^>]*><code>(.*?)</code>`)

// copiesAndRuns requires that every button copies the text on the page, and runs the curl samples that need only a key. Tests
// of the guide run the others.
func (b *browser) copiesAndRuns(docs, key string) {
	b.t.Helper()
	copied := map[string]string{}
	require.NoError(b.t, json.Unmarshal([]byte(value[string](b, copyAll)), &copied))
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, docs, nil)
	require.NoError(b.t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(b.t, err)
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	held := map[string]string{}
	for _, m := range shownSample.FindAllStringSubmatch(string(page), -1) {
		held[m[2]+" "+m[1]] = html.UnescapeString(regexp.MustCompile(`<[^>]+>`).ReplaceAllString(m[3], ""))
	}
	require.Greater(b.t, len(held), 30)
	require.Equal(b.t, held, copied)
	ran := 0
	for name, text := range copied {
		if !strings.HasSuffix(name, " sh") || strings.Contains(text, "_ID") {
			continue
		}
		c := exec.CommandContext(b.t.Context(), "sh", "-c", text)
		c.Env = append(os.Environ(), "SHOP_KEY="+key)
		out, err := c.Output()
		require.NoError(b.t, err, name)
		require.True(b.t, json.Valid(out) && !strings.Contains(string(out), `"statusCode"`), "%s: %s", name, out)
		ran++
	}
	require.GreaterOrEqual(b.t, ran, 6)
}

// With a mouse, with only the keyboard, on a phone, in dark mode, and without JavaScript.
func TestTheReferenceInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	dev := startCommand(t, "}", devArgs(t.TempDir(), "-o", "json")...)
	defer func() { require.Equal(t, 0, dev.stop()) }()
	var said struct{ URL, AdminURL, Docs, Key string }
	require.NoError(t, json.Unmarshal([]byte(dev.said), &said))
	require.Equal(t, said.URL+"/docs", said.Docs)
	b.keepsToItself(said.URL, said.AdminURL)

	b.open(said.AdminURL + "/docs")
	b.heading("Storefront API")
	b.shows(fmt.Sprintf(`//p[@class="address"]/code[.=%q]`, said.URL))
	if shift := value[float64](b, layoutShift); shift > maxLayoutShift {
		t.Errorf("parts of the page moved by %f while it was loaded", shift)
	}
	for _, width := range sizes {
		for _, scheme := range schemes {
			b.run(chromedp.EmulateViewport(width, 900), order(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			}))
			at := fmt.Sprintf("docs-%d-%s", width, scheme)
			if width == sizes[0] || scheme == "light" {
				b.examine(at, scheme)
			}
			require.LessOrEqual(t, value[int64](b, "document.documentElement.scrollWidth"), width, "%s: nothing sticks out at the side",
				at)
			require.Empty(t, value[[]string](b, cutOff), "%s: all code is seen", at)
			for _, id := range []string{"quick-start", "errors", "updateProduct", "orderPaidEvent", "object-Order"} {
				value[bool](b, fmt.Sprintf("document.getElementById(%q).scrollIntoView(), true", id))
				b.window(at + "-" + id)
			}
		}
	}
	b.run(chromedp.EmulateViewport(1280, 900), order(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))

	// Also links for an earlier version of the page.
	for to, id := range map[string]string{
		"errors": "errors", "lists-and-syncs": "lists-and-syncs", "enablePaymentLink": "enablePaymentLink", "updateProduct.priceAmount": "updateProduct.priceAmount",
		"tag/Webhooks/operation/paymentLinkPaidEvent": "paymentLinkPaidEvent", "section/Rate-limits": "rate-limits",
	} {
		b.open("about:blank")
		b.open(said.Docs + "#" + to)
		require.Eventually(t, func() bool { return math.Abs(b.top(fmt.Sprintf("[id=%q]", id))-72) <= 30 }, time.Minute,
			20*time.Millisecond,
			"the address of %s leads to it", to)
	}

	b.run(chromedp.KeyEvent("/"))
	require.Equal(t, "q", value[string](b, "document.activeElement.id"))
	for text, want := range map[string]string{"compareatam": "updateProduct.compareAtAmount",
		"customer_conflict": "createCustomer.customer_conflict", "publish": "productPublishedEvent",
		"retry": "receiving-webhooks", "rate_limited": "refusal.rate_limited"} {
		value[bool](b, `document.getElementById("q").value = "", true`)
		b.run(chromedp.KeyEvent(text))
		b.shows(fmt.Sprintf(`//*[@id="found"]//a[@href=%q]`, "#"+want))
	}
	b.examine("docs while searched", "light")
	b.window("docs-search")
	b.run(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	require.NotEmpty(t, value[string](b, "location.hash"))
	require.True(t, value[bool](b, `document.getElementById("found").hidden`))

	b.open(said.Docs + "#getProduct")
	b.run(click(`#getProduct input[value=go]`))
	b.shows(`//*[@id="listOrders"]//code[contains(., "shop.Orders.List")]`)
	b.run(click(`//*[@id="getProduct"]//*[@data-language="go"]//button`))
	b.shows(`//button[normalize-space(.)="Copied"] | //*[@id="live"][contains(., "copy keys")]`)
	b.window("docs-go")
	b.open(said.Docs)
	b.shows(`//*[@id="listOrders"]//code[contains(., "shop.Orders.List")]`)
	require.Contains(t, value[string](b, `document.querySelector("#getProduct .beside > .code code").textContent`),
		`"status": "PUBLISHED"`)

	b.copiesAndRuns(said.Docs, said.Key)

	b.run(chromedp.EmulateViewport(390, 900))
	b.open("about:blank")
	b.open(said.Docs)
	b.run(click(`//nav//summary`))
	b.run(click(`//nav//a[normalize-space(.)="Lists and syncs"]`))
	require.Equal(t, "#lists-and-syncs", value[string](b, "location.hash"))
	require.False(t, value[bool](b, `document.querySelector("nav details").open`), "the menu is out of the way")

	b.run(order(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.open("about:blank")
	b.open(said.Docs)
	b.shows(`//h2[contains(., "Quick start")]`)
	b.shows(`//h3[contains(., "Update product")]`)
	b.run(click(`#getStore input[value=ts]`))
	b.shows(`//*[@id="getStore"]//code[contains(., "storefront.store.get")]`)
	b.window("docs-without-script")
}
