package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// What a browser does behind a proxy with TLS that passes on no Host and no header of its own, as nginx's
// `proxy_pass http://127.0.0.1:8081` does: one that sends the page of a form, and one of before 2023,
// which sends the page's origin alone.
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
