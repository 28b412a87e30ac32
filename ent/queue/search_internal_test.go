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

// access is a line of a plan that reads an index, with the one below it; the condition stands there.
var access = regexp.MustCompile(`(?:Index Scan|Index Only Scan|Bitmap Index Scan) (using|on) \S+.*\n.*`)

// wasteful are the accesses of a plan that read the whole of an index: without a condition, or
// with one on an id in an index that starts with something else.
func wasteful(plan string) []string {
	var found []string
	for _, lines := range access.FindAllString(plan, -1) {
		_, condition, bounded := strings.Cut(lines, "Index Cond: (")
		onID := strings.HasPrefix(strings.TrimLeft(condition, "("), "id ")
		if !bounded || onID && !strings.Contains(lines, "_pkey") {
			found = append(found, lines)
		}
	}
	return found
}

// Full tables, on PostgreSQL: what a worker asks for again and again is read off indexes, whether
// the tables were full or empty when statistics were taken and the statements planned.
func TestWorkIsFoundByIndexes(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.Postgres, db.Config{Settings: Settings()})
	dbtest.MakePartitions(t, s)
	owner, webhook := uuid.New(), uuid.New()
	want, err := rowset([]wantRow{{owner, webhook, true, 20, time.Unix(0, 0)}})
	require.NoError(t, err)
	one := fmt.Sprintf(`[{"id":%q,"lease":%q,"status":"failed","attempts":"[]","delay":1}]`, uuid.New(), uuid.New())
	marked := fmt.Sprintf(`[%q]`, webhook)
	const lane = "store_id_webhook_id_retry_due_at_id"
	check := func(tables string) {
		for _, q := range []struct {
			name, statement string
			args            []any
			indexes         []string
			leaps           int // accesses that read the first entry only
		}{
			{"relay", postgres.take, []any{0, 500}, []string{"outbox_pkey", "webhook_store_id"}, 0},
			{"claim", claimStatement, []any{nil, want, 12000}, []string{lane, "Tid Scan on deliveries"}, 0},
			{"due in a span", postgres.dueSince, []any{nil, time.Now().Add(-time.Minute)}, []string{"delivery_due_at"}, 0},
			{"all that is due", postgres.due, []any{nil}, []string{lane}, 1},
			{"an end", postgres.end[0], []any{time.Now(), one}, []string{"deliveries_pkey", "Tid Scan on deliveries"}, 0},
			{"a failure", postgres.failing, []any{nil, marked}, []string{"webhooks_pkey", "Tid Scan on webhooks"}, 0},
			{"a success", postgres.healthy, []any{nil, marked}, []string{"webhooks_pkey", "Tid Scan on webhooks"}, 0},
			{"a wait", postgres.wait, []any{nil, one}, []string{"deliveries_pkey", "Tid Scan on deliveries"}, 0},
			{"a release", postgres.release, []any{nil, one}, []string{"deliveries_pkey", "Tid Scan on deliveries"}, 0},
		} {
			plan := explain(t, s, q.statement, q.args...)
			require.NotContains(t, plan, "Seq Scan", "%s, %s", q.name, tables)
			require.Len(t, wasteful(plan), q.leaps, "%s, %s\n%s", q.name, tables, plan)
			for _, index := range q.indexes {
				require.Contains(t, plan, index, "%s, %s", q.name, tables)
			}
		}
	}
	fill := func(statements ...string) {
		for _, statement := range statements {
			_, err := s.Writer().Exec(statement, owner, webhook)
			require.NoError(t, err)
		}
	}
	check("empty")
	_, err = s.Writer().Exec("ANALYZE")
	require.NoError(t, err)
	check("known to be empty")
	// Over the days that there are partitions of.
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
  now() - random() * interval '1 hour', '[]', 1, now() FROM events WHERE store_id = $1 LIMIT 20000`,
		`INSERT INTO outbox (event_id, store_id, type) SELECT id, store_id, type FROM events WHERE store_id = $1 AND $2::uuid IS NOT NULL LIMIT 5000`)
	check("full since the statistics were taken")
	_, err = s.Writer().Exec("ANALYZE")
	require.NoError(t, err)
	check("full and known to be")
}

func explain(t *testing.T, s *db.DB, statement string, args ...any) string {
	t.Helper()
	var text strings.Builder
	for row := range db.Rows(t.Context(), s.Writer(), "EXPLAIN "+statement, args...) {
		var line string
		require.NoError(t, row.Scan(&line))
		text.WriteString(line + "\n")
	}
	return text.String()
}

func TestFloorOfTheOutbox(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var f floor
	steps := []struct {
		at      int // of the search
		from    int64
		highest int64
		more    bool
		reason  string
	}{
		{0, 0, 500, true, "the first search is from the beginning"},
		{1, 500, 700, true, "goes on where its batch ended"},
		{2, 700, 710, false, "until it finds less than a batch"},
		{3, 0, 720, false, "nothing is a moment ago yet"},
		{100, 500, 730, false, "500 was, and 720 so soon after that it has no mark"},
		{199, 500, 740, false, "730 was later"},
		{200, 730, 750, false, "now it is a moment ago"},
		{500, 740, 900, true, "where it was a moment ago, which stays until more comes"},
		{501, 900, 1000, true, "a whole batch: the next one is above it"},
		{700, 1000, 1010, false, "for as long as there is more"},
		{750, 900, 1020, false, "then moments are looked back over again"},
		{1001, 0, 1030, false, "every second, seconds: nothing is that long ago yet"},
		{2000, 1030, 1100, false, "between them, moments"},
		{4200, 740, 1200, false, "where it was four seconds ago"},
		{4300, 1200, 0, false, "nothing came"},
		{4310, 1200, 1190, false, "one that came late moves nothing"},
		{10002, 0, 100, true, "from the beginning, every ten seconds"},
		{11004, 100, 300, true, "looking back over seconds never skips what that has still to pass"},
		{11005, 300, 2000, false, "and it ends where everything has been passed"},
		{11106, 2000, 2100, false, "moments, from there"},
		{5000, 0, 2000, false, "a clock that was set back: from the beginning, to be safe"},
		{5001, 0, 2010, false, "and what was known by it is forgotten"},
	}
	for _, step := range steps {
		require.Equal(t, step.from, f.start(at(step.at)), "%d: %s", step.at, step.reason)
		f.found(step.highest, at(step.at), step.more)
	}

	f = floor{}
	for ms := range 10000 {
		f.start(at(ms))
		f.found(int64(ms+1), at(ms), false)
		require.LessOrEqual(t, len(f.marks), int(farReach/markGap)+2, "only the last seconds are kept")
	}
	require.GreaterOrEqual(t, f.start(at(10000)), int64(9890))
	require.Zero(t, f.start(at(10001)))
	require.Zero(t, f.start(at(10002)), "a search from the beginning that failed is made again")
}
