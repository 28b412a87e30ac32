//go:build browser

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
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

	"go.storefront.example/server/docs"
)

// keepsToItself fails the test if a page requests another origin, breaks its security policy, or logs an error.
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

// cutOff returns the code blocks whose lines are wider than the block.
const cutOff = `[...document.querySelectorAll("pre")].filter((p) => p.scrollWidth > p.clientWidth).map((p) => p.textContent)`

// copyAll presses every copy button of the page, and returns what the buttons copied and what the page shows.
const copyAll = `(async () => {
  const copied = [];
  navigator.clipboard.writeText = async (text) => { copied.push(text); };
  for (const button of document.querySelectorAll("button.copy")) {
    button.click();
    await 0;
  }
  return JSON.stringify({copied, shown: [...document.querySelectorAll(".code code")].map((one) => one.textContent)});
})()`

// copiesAndRuns requires that every button copies the text on the page, and runs the copied curl samples that need only a key. Tests of the
// guide run the others.
func (b *browser) copiesAndRuns(site, key string) {
	b.t.Helper()
	ran := 0
	for _, p := range docs.Pages(docs.Callers) {
		if !strings.HasPrefix(p.Name, "operations/") {
			continue
		}
		b.open(site + p.Path())
		var texts struct{ Copied, Shown []string }
		require.NoError(b.t, json.Unmarshal([]byte(value[string](b, copyAll)), &texts))
		require.Equal(b.t, texts.Shown, texts.Copied, p.Name)
		for _, text := range texts.Copied {
			if !strings.HasPrefix(text, "curl ") || strings.Contains(text, "_ID") {
				continue
			}
			c := exec.CommandContext(b.t.Context(), "sh", "-c", text)
			c.Env = append(os.Environ(), "SHOP_KEY="+key)
			out, err := c.Output()
			require.NoError(b.t, err, p.Name)
			require.True(b.t, json.Valid(out) && !strings.Contains(string(out), `"statusCode"`), "%s: %s", p.Name, out)
			ran++
		}
	}
	require.GreaterOrEqual(b.t, ran, 6)
}

// arrives waits until the browser has a page of the site open at a place.
func (b *browser) arrives(place, because string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		at, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("location.pathname + location.hash"))
		return err == nil && at == place // while a page is left, no script runs
	}, time.Minute, 50*time.Millisecond, "%s leads to %s", because, place)
}

// siteOf is what a development server prints about its site.
type siteOf struct{ URL, AdminURL, Docs, Key string }

// openSite starts a development server and opens the first page of its site.
func openSite(t *testing.T) (*browser, siteOf) {
	t.Helper()
	b := newBrowser(t)
	dev := startCommand(t, "}", devArgs(t.TempDir(), "-o", "json")...)
	t.Cleanup(func() { require.Equal(t, 0, dev.stop()) })
	var said siteOf
	require.NoError(t, json.Unmarshal([]byte(dev.said), &said))
	require.Equal(t, said.URL+"/docs", said.Docs)
	b.keepsToItself(said.URL, said.AdminURL)
	b.open(said.AdminURL + "/docs")
	b.heading("Storefront API")
	b.shows(fmt.Sprintf(`//p[@class="address"]/code[.=%q]`, said.URL))
	return b, said
}

// axe finds no problem on any page, and no page is wider than the window. The first page of each folder is examined on a phone and
// in dark colours too, because the pages of a folder have one template.
func TestEveryPageOfTheSiteInABrowser(t *testing.T) {
	t.Parallel()
	b, said := openSite(t)
	seen := map[string]bool{}
	for _, p := range docs.Pages(docs.Everybody) {
		b.open(said.AdminURL + p.Path())
		b.shows(`//main//h1`)
		if shift := value[float64](b, layoutShift); shift > maxLayoutShift {
			t.Errorf("%s: parts of the page moved by %f while it was loaded", p.Name, shift)
		}
		first := !seen[path.Dir(p.Name)]
		seen[path.Dir(p.Name)] = true
		for _, width := range sizes {
			for _, scheme := range schemes {
				if !first && scheme != "light" {
					continue
				}
				b.run(chromedp.EmulateViewport(width, 900), order(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
				}))
				at := fmt.Sprintf("docs-%s-%d-%s", strings.ReplaceAll(p.Name, "/", "-"), width, scheme)
				if first || width == sizes[0] {
					b.examine(at, scheme)
				}
				if first {
					b.window(at)
				}
				require.LessOrEqual(t, value[int64](b, "document.documentElement.scrollWidth"), width, "%s: nothing sticks out at the side",
					at)
				require.Empty(t, value[[]string](b, cutOff), "%s: all code is seen", at)
			}
		}
		b.run(chromedp.EmulateViewport(1280, 900), order(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))
	}
}

// With a mouse, with only the keyboard, on a phone, and without JavaScript.
func TestTheSiteInABrowser(t *testing.T) {
	t.Parallel()
	b, said := openSite(t)

	// Addresses of the time when all pages were one lead to the pages of today.
	for old, now := range map[string]string{
		"errors": "/docs/guide/errors", "lists-and-syncs": "/docs/guide/lists", "enablePaymentLink": "/docs/operations/enablePaymentLink",
		"updateProduct.priceAmount": "/docs/operations/updateProduct#priceAmount", "object-Order": "/docs/objects/Order",
		"createCustomer.customer_conflict": "/docs/codes#customer_conflict", "ship-exactly-once": "/docs/guide/webhooks#ship-exactly-once",
		"tag/Webhooks/operation/paymentLinkPaidEvent": "/docs/operations/paymentLinkPaidEvent", "section/Rate-limits": "/docs/guide/limits",
	} {
		b.open("about:blank")
		b.open(said.Docs + "#" + old)
		b.arrives(now, old)
	}

	// With only the keyboard, the search finds fields, error codes and words of all pages.
	b.open(said.Docs + "/guide/limits")
	b.run(chromedp.KeyEvent("/"))
	require.Equal(t, "site-q", value[string](b, "document.activeElement.id"))
	for text, want := range map[string]string{"compareatam": "/docs/operations/updateProduct#compareAtAmount",
		"customer_conflict": "/docs/codes#customer_conflict", "publish": "/docs/operations/productPublishedEvent",
		"retry": "/docs/guide/webhooks", "rate_limited": "/docs/codes#rate_limited"} {
		value[bool](b, `document.getElementById("site-q").value = "", true`)
		b.run(chromedp.KeyEvent(text))
		b.shows(fmt.Sprintf(`//*[@id="site-found"]//a[@href=%q]`, want))
	}
	b.examine("docs while searched", "light")
	b.window("docs-search")
	value[bool](b, `document.getElementById("site-q").value = "", true`)
	b.run(chromedp.KeyEvent("ship exactly"))
	b.shows(`//*[@id="site-found"]//li[1]/a[contains(@href, "ship-exactly-once")]`)
	b.run(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	b.arrives("/docs/guide/webhooks#ship-exactly-once", "the first result")

	// If the reader chooses a language, all samples of all pages change to it. The reader can copy a sample.
	for _, one := range [][2]string{
		{"php", "$shop->orders->list"}, {"python", "shop.orders.list"}, {"ts", "storefront.orders.list"}, {"go", "shop.Orders.List"},
	} {
		language, text := one[0], one[1]
		b.open(said.Docs + "/operations/getProduct")
		b.run(click(fmt.Sprintf(`input[value=%s]`, language)))
		b.open(said.Docs + "/operations/listOrders")
		b.shows(fmt.Sprintf(`//code[contains(., %q)]`, text))
	}
	b.run(click(`//*[@data-language="go"]//button`))
	b.shows(`//button[normalize-space(.)="Copied"] | //*[@id="site-live"][contains(., "copy keys")]`)
	b.window("docs-go")
	b.copiesAndRuns(said.URL, said.Key)

	b.run(chromedp.EmulateViewport(390, 900))
	b.open("about:blank")
	b.open(said.Docs)
	b.run(click(`//nav//summary`))
	b.run(click(`//nav//a[normalize-space(.)="Lists and syncs"]`))
	b.arrives("/docs/guide/lists", "the menu")
	b.shows(`//h1[normalize-space(.)="Lists and syncs"]`)
	require.False(t, value[bool](b, `document.querySelector("nav details").open`), "the menu is out of the way")

	b.run(order(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.open("about:blank")
	b.open(said.Docs + "/operations/getStore")
	b.shows(`//h1[contains(., "Get store")]`)
	b.run(click(`input[value=ts]`))
	b.shows(`//code[contains(., "storefront.store.get")]`)
	b.window("docs-without-script")
}
