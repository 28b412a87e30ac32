package main

import (
	"encoding/json"
	"fmt"
	"math"
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

// keepsToItself makes the test fail when a page asks for anything that is not of its own origin or
// made in the page, when the browser refuses something by the page's policy, and when a script
// complains.
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

// top is where on the window what a selector finds begins, once it has stopped moving there.
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

// unavoidable is what axe finds in the headings of Redoc: those within an operation jump from the
// second level to the fifth. It is moderate, and nothing that the theme or the document decides.
const unavoidable = "heading-order"

// examine has axe look at the reference as it is now.
func (b *browser) examine(name string) {
	b.t.Helper()
	for _, f := range value[[]finding](b, b.axe+`;axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations)`) {
		if f.ID != unavoidable || f.Impact != "moderate" {
			found, _ := json.MarshalIndent(f.Nodes, "", "  ")
			b.t.Errorf("%s: %s (%s): %s\n%s", name, f.Help, f.ID, f.Impact, found)
		}
	}
}

// What a caller's programmer does: reads, jumps, searches, with a mouse, with the keys alone, on a phone, and
// without JavaScript.
func TestTheReferenceInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	dev := startCommand(t, "}", devArgs(t.TempDir(), "-o", "json")...)
	defer func() { require.Equal(t, 0, dev.stop()) }()
	var said struct{ URL, AdminURL, Docs string }
	require.NoError(t, json.Unmarshal([]byte(dev.said), &said))
	require.Equal(t, said.URL+"/docs", said.Docs)
	b.keepsToItself(said.URL, said.AdminURL)

	for _, width := range sizes {
		b.run(chromedp.EmulateViewport(width, 900))
		b.open(said.AdminURL + "/docs")
		b.heading("Storefront API")
		if shift := value[float64](b, layoutShift); shift > maxLayoutShift {
			t.Errorf("%d: parts of the page moved by %f while it was loaded", width, shift)
		}
		b.examine(fmt.Sprintf("docs at %d", width))
		require.LessOrEqual(t, value[int64](b, "document.documentElement.scrollWidth"), width, "nothing sticks out at the side")
		for i, place := range []string{
			"#section\\/Quick-start", "#section\\/Errors table", "#section\\/Receiving-webhooks", "#tag\\/Products\\/operation\\/updateProduct",
			"#tag\\/Customers\\/operation\\/createCustomer", "#tag\\/Webhooks\\/operation\\/orderPaidEvent",
		} {
			value[bool](b, fmt.Sprintf("document.querySelector(%q).scrollIntoView(), true", place))
			b.window(fmt.Sprintf("docs-%d-%d", width, i))
		}
	}

	b.run(chromedp.EmulateViewport(1280, 900))
	for _, id := range []string{"section/Lists", "tag/Payment-links/operation/enablePaymentLink", "tag/Webhooks/operation/paymentLinkPaidEvent"} {
		b.open("about:blank")
		b.open(said.Docs + "#" + id)
		b.shows(fmt.Sprintf(`//*[@id=%q]//h2`, id))
		// The page is drawn in parts, and goes there again after each.
		require.Eventually(t, func() bool { return math.Abs(b.top(fmt.Sprintf("[id=%q]", id))) <= 30 }, 20*time.Second, 20*time.Millisecond,
			"the address of %s leads to it", id)
	}

	// The keys alone: the search, what it finds, and the menu.
	b.open("about:blank")
	b.open(said.Docs)
	b.run(chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "Search", value[string](b, "document.activeElement.getAttribute('aria-label')"))
	b.run(chromedp.KeyEvent("publish"))
	b.shows(`//*[@data-role="search:results"]//*[contains(., "product.published")]`)
	b.examine("docs while searched")
	b.window("docs-search")
	b.run(chromedp.KeyEvent(kb.Escape))
	for range 3 {
		b.run(chromedp.KeyEvent(kb.Tab))
	}
	require.Equal(t, "Changes", value[string](b, "document.activeElement.innerText.trim()"))
	b.run(chromedp.KeyEvent(kb.Enter))
	require.InDelta(t, 0, b.top("[id='section/Changes']"), 30)
	require.Equal(t, "#section/Changes", value[string](b, "location.hash"))

	// An answer's other statuses are behind their tabs.
	b.run(click(`//*[@id="tag/Products/operation/updateProduct"]//li[@role="tab"][normalize-space(.)="422"]`))
	b.shows(`//*[@id="tag/Products/operation/updateProduct"]//*[@role="tabpanel"]//*[normalize-space(.)="422"]`)
	b.run(click(`//*[@id="tag/Products/operation/updateProduct"]//button[contains(., "422")]`))
	b.examine("docs with a refusal opened")
	b.window("docs-refusal")
	b.run(chromedp.EmulateViewport(390, 900))
	b.run(chromedp.Focus(`[role="button"][aria-label="Menu"]`), chromedp.KeyEvent(kb.Enter))
	b.shows(`//*[@role="menuitem"][normalize-space(.)="Lists"]`)
	b.examine("docs with a phone's menu")
	b.window("docs-menu")

	b.run(order(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.open("about:blank")
	b.open(said.Docs)
	for _, text := range []string{"Quick start", "Update product", "product.published"} {
		b.shows(fmt.Sprintf(`//h2[contains(., %q)]`, text))
	}
	b.window("docs-without-script")
}
