package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop/shoptest"
)

var inputField = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// The page asks before it sends what never succeeded, because this may be many events, some of them older than the webhook.
func TestSendAgainAsksFirst(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		customer := func(email string) {
			t.Helper()
			_, err := p.operator.CreateCustomer(shoptest.In(t, t.Context(), p.operator, "one"), &storefrontv1.CreateCustomerRequest{
				Email: &email})
			require.NoError(t, err)
		}
		customer("a@example.com")
		customer("b@example.com")
		made, err := p.operator.CreateWebhook(t.Context(), &adminv1.CreateWebhookRequest{Store: "one",
			Url: "https://one.example.com/hooks", Events: []string{"customer.created"}})
		require.NoError(t, err)
		customer("c@example.com")
		deliveries := func() int { return dbtest.Count(t, d, "deliveries") }
		require.Equal(t, 1, deliveries())

		r, path := p.signedIn("one"), "/webhooks/"+made.GetWebhook().GetId()
		asked := r.post(path+"/resend", "window", "24h")
		require.Equal(t, http.StatusOK, asked.status)
		require.Contains(t, asked.text, "Send these events again?")
		require.Contains(t, asked.text, "3 events since")
		require.Contains(t, asked.text, "<strong>2 happened before this webhook was created</strong>")
		require.Equal(t, 1, deliveries(), "asking sends nothing")

		form := url.Values{}
		for _, field := range inputField.FindAllStringSubmatch(asked.text, -1) {
			form.Set(field[1], field[2])
		}
		sent := r.send(http.MethodPost, path+"/resend", form)
		require.Equal(t, http.StatusSeeOther, sent.status)
		require.Contains(t, sent.location, path+"?done=resent-finished&resent=2", "the third waits already")
		require.Equal(t, 3, deliveries())
	})
}
