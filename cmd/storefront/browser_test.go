//go:build browser

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
)

// browser is a tab that checks pages for accessibility, and saves pictures of them in STOREFRONT_SCREENSHOTS.
type browser struct {
	t           *testing.T
	ctx         context.Context
	axe         string
	screenshots string
}

// browserTime limits a step of a test. The slowest steps wait for a delivery.
const browserTime = 2 * time.Minute

// newBrowser starts Chromium with a new profile that can connect only to this machine. It needs axe.
func newBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	need.Heavy(t, "it drives a browser")
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		need.Missing(t, "there is no Chromium to look at the dashboard with; Debian's package is called chromium")
	}
	axe, err := os.ReadFile(filepath.Join("..", "..", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		need.Missing(t, "axe is not there, run npm ci once: %v", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("no-proxy-server", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	)
	allocated, end := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	t.Cleanup(end)
	ctx, closeTab := chromedp.NewContext(allocated, chromedp.WithErrorf(t.Logf))
	t.Cleanup(closeTab)
	b := &browser{t: t, ctx: ctx, axe: string(axe), screenshots: os.Getenv("STOREFRONT_SCREENSHOTS")}
	require.NoError(t, chromedp.Do(ctx))
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		if thrown, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("a script failed: %s", thrown.ExceptionDetails.Text)
		}
	}))
	b.run(order(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Africa/Douala"}),
		chromedp.EmulateViewport(1280, 900))
	return b
}

type step = chromedp.Action[chromedp.Void]

func order[P, R any](command cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, command, params)
		return err
	})
}

// within(b, action) limits the action to browserTime. If it fails, it logs the page.
func within[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTime)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		page, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
		if b.screenshots != "" {
			png, _ := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			_ = os.WriteFile(filepath.Join(b.screenshots, "failed.png"), png, 0o600)
		}
		require.NoError(b.t, err, "the page is %s", page)
	}
	return v
}

func (b *browser) run(steps ...step) {
	b.t.Helper()
	within(b, chromedp.Steps(steps...))
}

func (b *browser) open(address string) {
	b.t.Helper()
	b.run(chromedp.Navigate(address))
}

func (b *browser) press(text, heading string) {
	b.t.Helper()
	b.run(click(fmt.Sprintf(`//*[self::a or self::button][normalize-space(.)=%q]`, text)))
	b.heading(heading)
}

func (b *browser) heading(text string) {
	b.t.Helper()
	b.shows(fmt.Sprintf(`//h1[contains(normalize-space(.), %q)]`, text))
}

// b.shows waits until the page has loaded and the XPath finds a visible element on it.
func (b *browser) shows(path string) {
	b.t.Helper()
	b.run(chromedp.WaitVisible(path))
	// The beginning of a long page is visible before its end.
	value[bool](b, `new Promise((done) => document.readyState === "complete" ? done(true) : addEventListener("load", () => done(true)))`)
}

func (b *browser) fill(id, text string) {
	b.t.Helper()
	b.run(chromedp.Clear(chromedp.ID(id)), chromedp.SendKeys(chromedp.ID(id), text))
}

func value[T any](b *browser, script string) T {
	b.t.Helper()
	return within(b, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

func click(on string) step { return chromedp.Click(on) }

type finding struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

// b.see checks each page in these widths in pixels and colour schemes.
var (
	sizes   = []int64{1280, 390}
	schemes = []string{"light", "dark"}
	// rules are axe's options: in the dark scheme only the contrast, because everything else is as in the light one.
	rules = map[string]string{"dark": `, runOnly: ["color-contrast"]`}
)

// layoutShift is the Layout Instability API's score (W3C) of how much the page jumped, without movements that the user caused.
const layoutShift = `new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value; }).observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 50);
})`

// maxLayoutShift is half of what counts as good (web.dev/cls), because a part that arrives late may move the parts below.
const maxLayoutShift = 0.05

// tooWide returns the first table or badge wider than its container, or badge that overlaps the next element, or "".
const tooWide = `(() => {
  const out = (e) => e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 1;
  const touches = (e) => e.parentElement.nextElementSibling?.matches(".tags") && e.parentElement.nextElementSibling.getBoundingClientRect().top < e.getBoundingClientRect().bottom + 4;
  const found = [...document.querySelectorAll("table, main .badge")].find(out) ?? [...document.querySelectorAll(".between > .badge")].find(touches);
  return found ? found.outerHTML.slice(0, 300) : "";
})()`

const touching = `(() => {
  const found = [...document.querySelectorAll("main .card:not(pre), main .empty, main .note, main table")].find((e) => {
    const above = e.previousElementSibling?.getBoundingClientRect(), own = e.getBoundingClientRect();
    return above?.height && own.height && own.top < above.bottom + 8 && own.left < above.right && above.left < own.right;
  });
  return found ? found.outerHTML.slice(0, 300) : "";
})()`

// see checks the page's movement, and at every width and colour scheme axe, tooWide and touching. It saves a picture of each.
func (b *browser) see(name string) {
	b.t.Helper()
	if shift := value[float64](b, layoutShift); shift > maxLayoutShift {
		b.t.Errorf("%s: its parts moved by %f while it was loaded", name, shift)
	}
	for _, width := range sizes {
		for _, scheme := range schemes {
			b.run(chromedp.EmulateViewport(width, 900), order(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion",
					Value: "reduce"}},
			}))
			at := fmt.Sprintf("%s-%d-%s", name, width, scheme)
			if width == sizes[0] || scheme == "light" {
				b.examine(at, scheme)
			}
			require.LessOrEqual(b.t, value[int64](b, "document.documentElement.scrollWidth"), width, "%s is wider than the window", at)
			require.Empty(b.t, value[string](b, tooWide), "%s: is wider than its column", at)
			require.Empty(b.t, value[string](b, touching), "%s: touches what is above it", at)
			b.picture(at)
		}
	}
	b.run(chromedp.EmulateViewport(1280, 900), order(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))
}

func (b *browser) examine(name, scheme string) {
	b.t.Helper()
	if !value[bool](b, "!!window.axe") {
		value[bool](b, b.axe+";true")
	}
	found := value[[]finding](b, `axe.run(document, {resultTypes: ["violations"]`+rules[scheme]+`}).then((r) => r.violations)`)
	for _, f := range found {
		said, _ := json.MarshalIndent(f.Nodes, "", "  ")
		b.t.Errorf("%s: %s (%s): %s\n%s", name, f.Help, f.ID, f.Impact, said)
	}
}

func (b *browser) picture(name string) {
	b.t.Helper()
	if b.screenshots == "" {
		return
	}
	if strings.Contains(name, "dialog") {
		// A dialog covers the window and not the whole page.
		b.window(name)
		return
	}
	b.save(name, within(b, chromedp.FullScreenshot(100)))
}

func (b *browser) window(name string) {
	b.t.Helper()
	if b.screenshots != "" {
		b.save(name, within(b, chromedp.CaptureScreenshot()))
	}
}

func (b *browser) save(name string, png []byte) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(b.screenshots, 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join(b.screenshots, name+".png"), png, 0o600))
}
