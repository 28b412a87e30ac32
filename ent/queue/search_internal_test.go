package queue

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// access matches two lines of a plan: an index read, and the line below with its condition.
var access = regexp.MustCompile(`(?:Index Scan|Index Only Scan|Bitmap Index Scan) (using|on) \S+.*\n.*`)

// wasteful returns the index reads of a plan without a condition, or with one on an id in an index that starts with another
// column. The table webhooks is small, and the partitions of events for future days are empty.
func wasteful(plan string) []string {
	var found []string
	for _, lines := range access.FindAllString(plan, -1) {
		_, condition, bounded := strings.Cut(lines, "Index Cond: (")
		onID := strings.HasPrefix(strings.TrimLeft(condition, "("), "id ")
		if strings.Contains(lines, " on webhooks") || strings.Contains(lines, " on events_") {
			continue
		}
		if !bounded || onID && !strings.Contains(lines, "_pkey") {
			found = append(found, lines)
		}
	}
	return found
}

// Whether the tables were full or empty when statistics were taken.
func TestWorkIsFoundByIndexes(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "a plan there shows what the coordinator asks the nodes")
	d := dbtest.New(t, dbtest.Postgres, db.Config{Settings: Settings()})
	owner, webhook := uuid.New(), uuid.New()
	want, err := rowset([]ClaimRequest{{Lane: Lane{owner, webhook, true}, Max: 20}})
	require.NoError(t, err)
	one := fmt.Sprintf(`[{"id":%q,"lease":%q,"status":"failed","attempts":"[]","delay":1}]`, uuid.New(), uuid.New())
	marked := fmt.Sprintf(`[{"id":%q,"failed":true}]`, webhook)
	stores, events := postgres.array([]uuid.UUID{owner, owner}), postgres.array([]uuid.UUID{uuid.New(), uuid.New()})
	const lane = "store_id_webhook_id_epoch_retry_due_at_id"
	check := func(tables string) {
		for _, q := range []struct {
			name, statement string
			args            []any
			indexes         []string
			leaps           int // index reads that read only the first entry
		}{
			{"what is posted", "payloads", []any{stores, events}, []string{"events_pkey"}, 0},
			{"claim", "claim", []any{nil, want, 12000}, []string{lane}, 0},
			{"the lag", "longest due", []any{nil}, []string{lane}, 1},
			{"due in a span", "due since", []any{nil, time.Now().Add(-time.Minute)}, []string{"delivery_due_at"}, 0},
			{"all that is due", "due", []any{nil}, []string{lane}, 1},
			{"what is cancelled", "cancelled", nil, []string{lane}, 1},
			{"a cancellation", "cancel", []any{nil, owner, webhook, 1, 400}, []string{lane}, 0},
			{"an end", "end", []any{nil, one}, []string{"deliveries_pkey"}, 0},
			{"a mark", "mark", []any{nil, marked}, nil, 0},
			{"a wait", "wait", []any{nil, one}, []string{"deliveries_pkey"}, 0},
			{"a release", "release", []any{nil, one}, []string{"deliveries_pkey"}, 0},
		} {
			plan := explain(t, d, postgres.statements[q.statement], q.args...)
			require.NotRegexp(t, "Seq Scan on (deliveries|events)", plan, "%s, %s", q.name, tables)
			require.Len(t, wasteful(plan), q.leaps, "%s, %s\n%s", q.name, tables, plan)
			for _, index := range q.indexes {
				require.Contains(t, plan, index, "%s, %s", q.name, tables)
			}
		}
	}
	fill := func(statements ...string) {
		for _, statement := range statements {
			_, err := d.Writer().Exec(statement, owner, webhook)
			require.NoError(t, err)
		}
	}
	_, err = d.Writer().Exec("ANALYZE")
	require.NoError(t, err)
	const stamp = `(lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint + n * 20000), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid`
	fill(`INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 SELECT CASE WHEN n = 1 THEN $1::uuid ELSE gen_random_uuid() END, 'x', n, 'x', 'XAF', 'CM', '{}', '[]', now(), now()
 FROM generate_series(1, 500) n WHERE $2::uuid IS NOT NULL`,
		`INSERT INTO webhooks (id, store_id, url, events, secret, secret_key, created_at, updated_at)
 SELECT CASE WHEN id = $1 AND n = 1 THEN $2::uuid ELSE gen_random_uuid() END, id, 'x', '["order.paid"]', '', '', now(), now()
 FROM stores, generate_series(1, 5) n`,
		`INSERT INTO events (id, store_id, type, payload, created_at)
 SELECT `+stamp+`, $1, 'order.paid', '{}', now() FROM generate_series(1, 50000) n WHERE $2::uuid IS NOT NULL`,
		`INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
 SELECT id, store_id, $2, id, type, 'succeeded', '[]', now(), now() FROM events WHERE store_id = $1`,
		`INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, retry, due_at, attempts, epoch, created_at)
 SELECT id, store_id, CASE WHEN random() < 0.5 THEN $2::uuid ELSE gen_random_uuid() END, id, type, random() < 0.5,
  now() - random() * interval '1 hour', '[]', 1, now() FROM events WHERE store_id = $1 LIMIT 20000`)
	check("full since the statistics were taken")
	_, err = d.Writer().Exec("ANALYZE")
	require.NoError(t, err)
	check("full and known to be")
}

func explain(t *testing.T, d *db.DB, statement string, args ...any) string {
	t.Helper()
	var text strings.Builder
	for row := range db.Rows(t.Context(), d.Writer(), "EXPLAIN "+statement, args...) {
		var line string
		require.NoError(t, row.Scan(&line))
		text.WriteString(line + "\n")
	}
	return text.String()
}
