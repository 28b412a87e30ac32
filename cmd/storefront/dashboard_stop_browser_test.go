package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	tab "github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

// A form that the reader stops on its way can be sent again.
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
			_ = r.ParseForm() // only then is it noticed that the browser leaves
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
