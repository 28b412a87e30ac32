package db_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/id"
)

// The migration to version 8 makes no second delivery of an event, and keeps leases.
func TestWhatWaitsInAnOutboxBecomesDeliveries(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		d := open(t, url)
		dbtest.MigrateTo(t, d, 7)
		exec := func(statement string, args ...any) {
			t.Helper()
			_, err := d.Writer().Exec(statement, args...)
			require.NoError(t, err)
		}
		store, now := uuid.New(), time.Now().UTC().Truncate(time.Millisecond)
		webhook := func(store uuid.UUID, events string, enabled bool) uuid.UUID {
			made := uuid.New()
			exec(`INSERT INTO webhooks (id, store_id, url, events, secret, secret_key, enabled, epoch, created_at, updated_at)
 VALUES ($1, $2, 'u', $3, $4, 'k', $5, 3, $6, $6)`, made, store, events, []byte("s"), enabled, now)
			return made
		}
		first, second := webhook(store, `["order.paid"]`, true), webhook(store, `["order.failed", "order.paid"]`, true)
		webhook(store, `["order.failed"]`, true)
		webhook(store, `["order.paid"]`, false)
		webhook(uuid.New(), `["order.paid"]`, true)
		waits, relayed, ended := id.At(now), id.At(now), id.At(now)
		for _, event := range []uuid.UUID{waits, relayed, ended} {
			exec("INSERT INTO outbox (id, store_id, type) VALUES ($1, $2, 'order.paid')", event, store)
		}
		exec("INSERT INTO outbox (id, store_id, type) VALUES ($1, $2, 'customer.created')", id.At(now), store)
		lease, until := uuid.New(), now.Add(time.Minute)
		exec(`INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, due_at, lease, attempts, created_at, epoch)
 VALUES ($1, $2, $3, $4, 'order.paid', $5, $6, $7, $8, 3)`, id.Derive(relayed, first), store, first, relayed, until, lease, []byte("[]"), now)
		exec(`INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
 VALUES ($1, $2, $3, $4, 'order.paid', 'succeeded', $5, $6, $6)`, id.Derive(ended, first), store, first, ended, []byte("[]"), now)

		require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
		type pair struct{ webhook, event uuid.UUID }
		found := map[pair]int{}
		for _, row := range dbtest.Deliveries(t, d, "store_id = $1", store) {
			found[pair{row.WebhookID, row.EventID}]++
			require.Equal(t, id.Time(row.EventID), id.Time(row.ID))
			require.Equal(t, "[]", string(row.Attempts))
			if row.EventID == relayed && row.WebhookID == first {
				require.Equal(t, lease, *row.Lease)
				require.True(t, until.Equal(*row.LeasedUntil))
				continue
			}
			require.Nil(t, row.Lease)
			require.Nil(t, row.LeasedUntil)
			require.False(t, row.Retry)
			require.WithinDuration(t, now, row.DueAt, time.Hour)
			require.WithinDuration(t, now, row.CreatedAt, time.Hour)
			if d.Dialect() == "postgres" {
				require.Equal(t, id.Derive(row.EventID, row.WebhookID), row.ID)
			}
		}
		require.Equal(t, map[pair]int{{first, waits}: 1, {second, waits}: 1, {first, relayed}: 1, {second, relayed}: 1, {second, ended}: 1}, found)
		require.Equal(t, len(found), dbtest.Count(t, d, "deliveries WHERE epoch = 3"))
	})
}
