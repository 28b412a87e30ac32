package conformance_test

import (
	"io"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/webhooks"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			b := hooked(t, database, "")
			_, err := b.CreateWebhook(b.ctx, webhooks.Registration{URL: "https://receiver.example.com/hook",
				Events: []string{"customer.created"}})
			require.NoError(t, err)
			a := b.json("POST", "/v1/customers", `{"name":"Awa Ngo","email":"awa@example.com"}`)
			require.Equal(t, 201, a.status)
			event, err := b.installation.db.Client().Event.Query().Only(b.ctx)
			require.NoError(t, err)
			require.Contains(t, b.log.String(), `"event_ids":["`+event.ID.String()+`"]`, "the request's line names what it caused")
			require.Equal(t, a.header.Get("X-Request-Id"), event.RequestID.String(), "and the event names the request")

			b.json("PATCH", "/v1/customers/"+a.body["id"].(string), `{"nope":1}`)
			for range 25 {
				b.withKey(auth.NewKey(uuid.New())).answer(&getStore{})
			}
			other := b.newBench(t, restProtocol{})
			for range 121 {
				other.answer(&getStore{})
			}
			b.clock.advance(90 * time.Second)

			response, err := b.plain.Get("http://" + b.admin + "/metrics")
			require.NoError(t, err)
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			for _, want := range []string{
				`storefront_request_duration_seconds_count{method="POST",protocol="rest",route="/v1/customers",status="201"} 1`,
				`storefront_request_duration_seconds_count{method="PATCH",protocol="rest",route="/v1/customers/{id}",status="400"} 1`,
				`storefront_refusals_total{code="validation_failed"} 1`,
				`storefront_refusals_total{code="rate_limited"} 6`,
				`storefront_rate_limit_hits_total{limit="address"} 5`,
				`storefront_rate_limit_hits_total{limit="key"} 1`,
				`storefront_delivery_lag_seconds 90`,
			} {
				require.Contains(t, string(text), "\n"+want+"\n")
			}
			require.Regexp(t, `go_sql_wait_count_total\{db_name="read"\} \d`, string(text))
			require.NotRegexp(t, `go_sql_open_connections\{db_name="read"\} 0`, string(text))
			for _, secret := range []string{b.store.Slug, b.store.ID.String(), b.key, b.keyID, "awa@example.com", "receiver.example.com",
				a.body["id"].(string)} {
				require.NotContains(t, string(text), secret)
			}
		})
	}
}
