package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// Each saves only the fields that they edited. If both edited one, the second form comes back with an explanation, and saved
// again replaces the value.
func TestTwoEditAWebhookAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		path := "/webhooks/" + p.fill("one").webhook + "/edit"
		current := func() *adminv1.Webhook { return mustList(t, p)[0] }
		before := current()
		first, second := p.signedIn("one"), p.signedIn("one")
		typed := url.Values{"url": {"https://first.example.com/"}, "description": {before.GetDescription()},
			"events": before.GetEvents()}
		mine := second.form(path, url.Values{"url": {before.GetUrl()}, "description": {"Books"}, "events": before.GetEvents()})
		require.Equal(t, http.StatusSeeOther, first.send(http.MethodPost, path, first.form(path, typed)).status)
		require.Equal(t, http.StatusSeeOther, second.send(http.MethodPost, path, mine).status)
		require.Equal(t, "https://first.example.com/", current().GetUrl(), "the second has not touched it")
		require.Equal(t, "Books", current().GetDescription())

		theirs := second.form(path, url.Values{"url": {"https://first.example.com/"}, "description": {"Accounts"},
			"events": {"order.paid"}})
		typed = first.form(path, url.Values{"url": {"https://10.0.0.1/"}, "description": {"Ledger"}, "events": before.GetEvents()})
		require.Equal(t, http.StatusSeeOther, second.send(http.MethodPost, path, theirs).status)
		for range 2 {
			answer := first.send(http.MethodPost, path, typed)
			require.Equal(t, http.StatusConflict, answer.status)
			require.Contains(t, answer.text, "changed this to “Accounts” meanwhile")
			require.Contains(t, answer.text, `value="Ledger"`)
			require.Contains(t, answer.text, `name="was_description" value="Accounts"`)
			require.Contains(t, answer.text, `name="was_events" value="`+before.GetEvents()[1]+`"`)
			require.Equal(t, "Accounts", current().GetDescription())
		}
		typed["was_description"] = []string{"Accounts"}
		answer := first.send(http.MethodPost, path, typed)
		require.Equal(t, http.StatusUnprocessableEntity, answer.status)
		require.Contains(t, answer.text, `name="was_events" value="`+before.GetEvents()[1]+`"`, "so that the events stay theirs")
		typed.Set("url", "https://first.example.com/")
		typed["events"] = []string{"order.paid"} // the same value as the second member saved, which is no conflict
		require.Equal(t, http.StatusSeeOther, first.send(http.MethodPost, path, typed).status)
		require.Equal(t, "Ledger", current().GetDescription())
		require.Equal(t, []string{"order.paid"}, current().GetEvents())
	})
}
