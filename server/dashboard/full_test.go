package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/webhooks"
)

// The pages say so before a form is filled in, and explain what to do.
func TestFullListsSayWhatToDo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		o := p.fill("one")
		r := p.signedIn("one")
		pages := []struct{ path, button, full string }{
			{"/webhooks", "Add webhook<", "This store has 5 webhooks, the most that a store may have. To add another, delete one"},
			{"/keys", "Create API key<", "This store has 10 active keys, the most that a store may have. To create another, revoke one"},
		}
		for _, page := range pages {
			require.Contains(t, r.get(page.path).text, page.button)
			require.NotContains(t, r.get(page.path).text, page.full)
			require.Contains(t, r.get(page.path+"/new").text, "<form class=\"card form\"")
		}
		for i := range webhooks.Max - 1 {
			_, err := p.operator.CreateWebhook(t.Context(), &adminv1.CreateWebhookRequest{Store: "one",
				Url: fmt.Sprintf("https://one.example.com/%d", i)})
			require.NoError(t, err)
		}
		for range shop.MaxActiveKeys - 1 {
			_, err := p.operator.CreateKey(t.Context(), &adminv1.CreateKeyRequest{Store: "one", Name: "k", Scopes: []string{"store:read"},
				Lifetime: adminv1.Key_DAYS_30})
			require.NoError(t, err)
		}
		for _, page := range pages {
			for _, path := range []string{page.path, page.path + "/new"} {
				a := r.get(path)
				require.Equal(t, http.StatusOK, a.status, path)
				require.Contains(t, a.text, page.full, path)
				require.NotContains(t, a.text, page.button, "%s offers nothing that will be refused", path)
				require.NotContains(t, a.text, "<form class=\"card form\"", path)
			}
		}
		require.Equal(t, http.StatusSeeOther, r.send(http.MethodPost, "/webhooks/"+o.webhook+"/delete",
			url.Values{"csrf": {r.token()}}).status)
		require.Contains(t, r.get("/webhooks").text, "Add webhook<")
	})
}

// Even without JavaScript, a form with errors has the focus on the first wrong field.
func TestTheFirstBadFieldHasTheFocus(t *testing.T) {
	t.Parallel()
	p := newPlace(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	o := p.fill("one")
	r := p.signedIn("one")
	for _, row := range []struct {
		path, first string
		fields      []string
	}{
		{"/keys", `id="name"`, []string{"name", "", "lifetime", "30d"}},
		{"/keys", `id="scopes"`, []string{"name", "CRM", "lifetime", "x"}},
		{"/keys", `id="lifetime"`, []string{"name", "CRM", "scopes", "store:read"}},
		{"/webhooks", `id="url"`, []string{"url", "http://x", "events", "order.paid"}},
		{"/webhooks", `id="events"`, []string{"url", "https://shop.example.com/", "description", "x"}},
		{"/webhooks/" + o.webhook + "/edit", `id="events"`, []string{"url", "https://x.example.com/", "events", "x"}},
		{"/webhooks/" + o.webhook + "/resend", `id="since"`, []string{"since", "yesterday"}},
		{"/webhooks/" + o.webhook + "/resend", `id="window"`, []string{"window", "x"}},
	} {
		a := r.post(row.path, row.fields...)
		require.Equal(t, http.StatusUnprocessableEntity, a.status, row.path)
		require.Equal(t, 1, strings.Count(a.text, " autofocus"), "%s %v", row.path, row.fields)
		for line := range strings.Lines(a.text) {
			if strings.Contains(line, " autofocus") {
				require.Contains(t, line, row.first, "%s %v", row.path, row.fields)
				require.Contains(t, line, ` aria-invalid="true"`)
			}
		}
	}
	for _, path := range []string{"/keys/new", "/webhooks/new", "/webhooks/" + o.webhook} {
		require.NotContains(t, r.get(path).text, " autofocus", path)
	}
}
