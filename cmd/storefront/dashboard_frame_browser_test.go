package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/dashboard"
	slots "go.storefront.example/server/limit"
)

// The platform's page is on another site than the dashboard, which it shows in a frame and keeps signed in.
func TestDashboardInAFrameInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, chromedp.Flag("ignore-certificate-errors", true),
		chromedp.Flag("host-resolver-rules", "MAP localhost 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	s := dbtest.New(t, dbtest.SQLite, db.Config{})
	o := admin.New(s, admin.Options{})
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
		Operator: o, Now: s.Now, Unreachable: db.IsUnreachable, Logger: slog.New(slog.DiscardHandler), Slots: slots.NewSlots(4, 2),
		Platform: pages,
	}))
	t.Cleanup(served.Close)
	base := strings.Replace(served.URL, "127.0.0.1", "localhost", 1)
	link, err := o.CreateSignInLink(t.Context(), &adminv1.CreateSignInLinkRequest{Store: "douala", Member: "Awa Ngo",
		Role: adminv1.Session_owner, BaseUrl: base})
	require.NoError(t, err)
	frame = link.GetUrl()

	b.open(platform.URL)
	// A frame of another site is a target of its own, which scripts of this page cannot reach.
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
	require.Eventually(t, func() bool { return s.Client().Session.Query().CountX(t.Context()) == 1 }, browserTime,
		100*time.Millisecond)
	early := s.Now().Add(time.Hour)
	_, err = s.Writer().ExecContext(t.Context(), "UPDATE sessions SET expires_at = $1", early)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		value[bool](b, fmt.Sprintf(`(() => { frames[0].postMessage("storefront:keep-alive", %q); return true; })()`, base))
		return s.Client().Session.Query().OnlyX(t.Context()).ExpiresAt.After(early)
	}, browserTime, 200*time.Millisecond, "its cookie came with the message's request")
	b.picture("frame")
}
