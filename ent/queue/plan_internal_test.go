package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/id"
)

// A journal of some size, on PostgreSQL: what is read of it is looked up by an index in the order
// in which it is shown, and never sorted or searched whole.
func TestJournalIsReadByItsIndexes(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.Postgres, db.Config{})
	dbtest.MakePartitions(t, s)
	owner, webhook := uuid.New(), uuid.New()
	now := s.Now()
	for _, statement := range []string{
		// Ids of today and the days to come, for the partitions that there are.
		`INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
 SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint + n * 60000), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
  CASE WHEN n % 3 = 0 THEN $1::uuid ELSE gen_random_uuid() END, $2, gen_random_uuid(), 'order.paid',
  CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'succeeded' END, '[]', now(), now() FROM generate_series(1, 15000) n`,
		`INSERT INTO events (id, store_id, type, payload, created_at)
 SELECT event_id, store_id, event_type, '{}', created_at FROM finished_deliveries WHERE store_id = $1 AND webhook_id = $2`,
	} {
		_, err := s.Writer().Exec(statement, owner, webhook)
		require.NoError(t, err)
	}
	// Tomorrow is full; a day without rows may be read whole.
	wholeDay := "Seq Scan on public." + db.Partition{Table: "finished_deliveries", Day: now.AddDate(0, 0, 1)}.Name()
	plan := func(settings, query string, args ...any) string {
		tx, err := s.Reader().Begin()
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback()) }()
		_, err = tx.Exec(settings)
		require.NoError(t, err)
		var text strings.Builder
		for row := range db.Rows(t.Context(), tx, "EXPLAIN (VERBOSE) "+query, args...) {
			var line string
			require.NoError(t, row.Scan(&line))
			text.WriteString(line + "\n")
		}
		return text.String()
	}
	lists := func(statistics string) {
		for _, which := range []Search{
			{Status: Succeeded}, {Status: Failed}, {Status: Cancelled},
			{Status: Failed, WebhookID: webhook}, {Status: Succeeded, WebhookID: webhook, From: now},
			{Status: Succeeded, Since: now, Until: now.Add(time.Hour)}, {Status: Failed, EventType: "order.paid"}, {Status: Failed, Before: id.At(now)},
			{Status: Succeeded, WebhookID: webhook, From: now, EventType: "order.paid", Before: id.At(now)},
		} {
			which.StoreID, which.Limit = owner, 50
			query, args := which.statement(postgres, nil)
			text := plan(postgres.planSafely, query, args...)
			require.NotContains(t, text, "Seq Scan", "%s\n%s", statistics, text)
			require.NotContains(t, text, "Sort  (", "%s\n%s", statistics, text)
			require.NotRegexp(t, `finished_deliveries\w*_pkey`, text, statistics)
			require.Contains(t, text, "store_id_status_id", "%s\n%s", statistics, text)
		}
	}
	for _, statistics := range []string{"VACUUM", "ANALYZE", "VACUUM ANALYZE"} {
		lists("before " + statistics)
		_, err := s.Writer().Exec(statistics)
		require.NoError(t, err)
		lists("after " + statistics)
	}
	query, args := Search{StoreID: owner, Limit: 50}.statement(postgres, nil)
	require.NotContains(t, plan(postgres.planSafely, query, args...), wholeDay)
	text := plan("", postgres.findEntry(), id.At(now), nil)
	require.NotContains(t, text, wholeDay, text)

	text = plan(postgres.planSafely, postgres.findEvents(), owner, now.Add(time.Hour), uuid.Nil, time.Unix(0, 0), "ORD-7K2M9QXW", "")
	require.NotContains(t, text, "Seq Scan", text)
	require.NotContains(t, text, "Sort  (", text)
	require.Contains(t, text, "store_id_created_at_id", text)

	query, args = Search{StoreID: owner, WebhookID: webhook, Status: Failed, EventType: "order.paid"}.ofEvents(postgres, nil, []uuid.UUID{id.At(now), id.At(now)})
	text = plan(postgres.planSafely, query, args...)
	require.Contains(t, text, db.Partition{Table: "finished_deliveries", Day: now.AddDate(0, 0, 1)}.Name()+"_store_id_event_id", "neither for the order nor for a condition another one")

	text = plan(postgres.planSafely, nextEventsOf, owner, now.Add(-time.Hour), uuid.Nil, now.Add(time.Hour), webhook, id.Floor(now.Add(-25*time.Hour)))
	require.NotContains(t, text, "Seq Scan", text)
	require.NotContains(t, text, "JIT", text)
	require.Contains(t, text, "delivery_store_id_event_id", text)
	require.Contains(t, text, "outboxentry_store_id_event_id", text)
	require.Contains(t, text, "store_id_event_id", text)
	require.Contains(t, text, "store_id_created_at_id", text)
}
