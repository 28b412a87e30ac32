package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func TestDeliveriesAreSearched(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		mine, theirs := p.fill("one"), p.fill("two")
		r := p.signedIn("one")
		deliveryOf := func(o things) *adminv1.Delivery {
			found, err := p.operator.GetDelivery(t.Context(), &adminv1.GetDeliveryRequest{Id: o.delivery})
			require.NoError(t, err)
			return found.GetDelivery()
		}
		event, foreign := deliveryOf(mine).GetEventId(), deliveryOf(theirs).GetEventId()
		at := deliveryOf(mine).GetCreatedAt().AsTime()
		for _, row := range []struct {
			reason string
			query  url.Values
			found  bool
		}{
			{"an event's id", url.Values{"q": {event}}, true},
			{"with spaces around it, in upper case", url.Values{"q": {" " + strings.ToUpper(event) + " "}}, true},
			{"a delivery's id", url.Values{"q": {mine.delivery}}, true},
			{"a part of the payload", url.Values{"q": {"TEST event"}}, true},
			{"a part and a type", url.Values{"q": {"test event"}, "type": {"ping"}}, true},
			{"another type", url.Values{"q": {"test event"}, "type": {"order.paid"}}, false},
			{"a part and a status", url.Values{"q": {"test event"}, "status": {"failed"}}, false},
			{"a text of two hundred characters", url.Values{"q": {strings.Repeat("é", 200)}}, false},
			{"a text that is nowhere", url.Values{"q": {"ORD-7K2M9QXW"}}, false},
			{"another store's event", url.Values{"q": {foreign}}, false},
			{"another store's delivery", url.Values{"q": {theirs.delivery}}, false},
			{"a span of time", url.Values{"since": {at.Add(-time.Second).Format(time.RFC3339)},
				"until": {at.Add(time.Minute).Format("2006-01-02T15:04:05")}}, true},
			{"an earlier span", url.Values{"since": {"2020-01-01T00:00"}, "until": {at.Add(-time.Minute).Format(time.RFC3339)}}, false},
			{"a text in a span", url.Values{"q": {"test event"}, "since": {at.Add(-time.Second).Format(time.RFC3339)}}, true},
			{"a text in an earlier span", url.Values{"q": {"test event"}, "until": {at.Add(-time.Minute).Format(time.RFC3339)}}, false},
		} {
			a := r.get("/deliveries?" + row.query.Encode())
			require.Equal(t, http.StatusOK, a.status, row.reason)
			require.Equal(t, row.found, strings.Contains(a.text, mine.delivery), row.reason)
			require.NotContains(t, a.text, "two.example.com", row.reason)
		}
		for query, want := range map[string]string{
			"since=yesterday": "Since: must be a date and time", "q=" + strings.Repeat("x", 201): "at most 200 characters",
			"since=2026-01-02T00:00&until=2026-01-01T00:00": "Until: must be later", "q=x&before=x": "Page: must be",
		} {
			a := r.get("/deliveries?" + query)
			require.Equal(t, http.StatusBadRequest, a.status, query)
			require.Contains(t, a.text, want, query)
			require.NotContains(t, a.text, "details.fields", "the API's own words")
		}
	})
}

// The link “Older” must continue after the list that the page's script has replaced.
func TestTheFollowedListHasItsNextPage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	o := p.fill("one")
	for range 30 {
		_, err := p.operator.PingWebhook(t.Context(), &adminv1.PingWebhookRequest{Id: o.webhook})
		require.NoError(t, err)
	}
	_, list, found := strings.Cut(p.signedIn("one").get("/deliveries").text, `<section id="list"`)
	require.True(t, found)
	list, _, _ = strings.Cut(list, "</section>")
	require.Contains(t, list, "data-live=")
	require.Contains(t, list, `rel="next"`)
}

var bareID = regexp.MustCompile(`>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}<`)

var olderPage = regexp.MustCompile(`/activity\?(before=[^"]+)"`)

func TestTheActivityNamesWhatItIsAbout(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		p := newPlace(t, d)
		o := p.fill("one")
		ctx := t.Context()
		product, err := p.operator.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: "one", Title: "Wax & <b>Silk</b>",
			Type: storefrontv1.Product_FILE, PriceAmount: new(int64(1500))})
		require.NoError(t, err)
		order, err := p.operator.CreateOrder(ctx, &adminv1.CreateOrderRequest{
			Store: "one", Items: []*adminv1.CreateOrderRequest_Item{{ProductId: product.GetId(), Quantity: 1}}, Name: "Awa Ngo",
			Email: new("awa@example.com"),
		})
		require.NoError(t, err)
		// The journal shows a customer without a name by e-mail or phone.
		for _, nameless := range []*adminv1.CreateOrderRequest{{Email: new("nameless@example.com")}, {Phone: new("+237670000009")}} {
			nameless.Store, nameless.Items = "one", []*adminv1.CreateOrderRequest_Item{{ProductId: product.GetId(), Quantity: 1}}
			_, err = p.operator.CreateOrder(ctx, nameless)
			require.NoError(t, err)
		}
		a := p.signedIn("one").get("/activity")
		require.Equal(t, http.StatusOK, a.status)
		for _, want := range []string{
			`">nameless@example.com</a>`, `">&#43;237670000009</a>`,
			`/deliveries?q=` + product.GetId() + `">Wax &amp; &lt;b&gt;Silk&lt;/b&gt;</a>`, `/deliveries?q=` + order.GetId() + `">` +
				order.GetReference() + `</a>`,
			`/webhooks/` + o.webhook + `">https://one.example.com/hooks</a>`, `/keys#` + o.key + `">key of one</a>`, `">Awa Ngo</a>`,
		} {
			require.Contains(t, a.text, want)
		}
		require.Empty(t, bareID.FindString(a.text))

		// Then no entry on the first page contains the webhook's URL.
		for range 30 {
			_, err = p.operator.DisableWebhook(ctx, &adminv1.DisableWebhookRequest{Id: o.webhook})
			require.NoError(t, err)
			_, err = p.operator.EnableWebhook(ctx, &adminv1.EnableWebhookRequest{Id: o.webhook})
			require.NoError(t, err)
		}
		_, err = p.operator.DeleteWebhook(ctx, &adminv1.DeleteWebhookRequest{Id: o.webhook})
		require.NoError(t, err)
		a = p.signedIn("one").get("/activity")
		require.Contains(t, a.text, `</span> https://one.example.com/hooks</p>`, "a deleted webhook has no page, and keeps its name")
		require.NotContains(t, a.text, `/webhooks/`+o.webhook)
		older := olderPage.FindStringSubmatch(a.text)
		require.NotNil(t, older)
		a = p.signedIn("one").get("/activity?" + html.UnescapeString(older[1]))
		require.NotContains(t, a.text, "<dt>url</dt>")
		require.Contains(t, a.text, `</span> https://one.example.com/hooks</p>`)
		require.NotContains(t, a.text, o.webhook)
	})
}

func TestTheCatalogueShowsEveryType(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	p := newPlace(t, d)
	p.fill("one")
	p.fill("two")
	a := p.signedIn("one").get("/events/types")
	require.Equal(t, http.StatusOK, a.status)
	for _, name := range append(hook.EventTypes(), hook.Ping) {
		require.Contains(t, a.text, `<h2 id="`+name+`"`)
		require.Contains(t, a.text, `&#34;type&#34;: &#34;`+name+`&#34;`, "an example")
	}
	require.Contains(t, a.text, `/docs/operations/paymentLinkPaidEvent"`)
	require.NotContains(t, a.text, "two.example.com")
}
