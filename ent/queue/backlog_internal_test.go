package queue

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	entdialect "entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

func TestBacklogIsReadOffIndexes(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		if d.Dialect() == entdialect.SQLite {
			plan := explainWith(t, d, "EXPLAIN QUERY PLAN ", sqlite.statements["backlog"])
			require.Equal(t, 2, strings.Count(plan, "SEARCH d USING COVERING INDEX delivery_store_id_webhook_id_epoch_retry_due_at_id "+
				"(store_id=? AND webhook_id=? AND epoch=? AND retry=?)"), plan)
			require.NotContains(t, plan, "B-TREE", "nothing is sorted: %s", plan)
			return
		}
		owner := ownerOf(t, d, backlogWebhooks...)
		fill := []string{
			`INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, retry, due_at, attempts, epoch, created_at)
 SELECT gen_random_uuid(), $1, (ARRAY['00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000003']::uuid[])[n % 3 + 1],
 gen_random_uuid(), 'order.paid', n % 10 = 0, now(), '[]', 1, now() FROM generate_series(1, 30000) n`,
		}
		for _, statement := range fill {
			_, err := d.Writer().Exec(statement, owner)
			require.NoError(t, err)
		}
		b, err := ReadBacklog(t.Context(), d)
		require.NoError(t, err)
		require.Equal(t, Backlog{Lag: b.Lag, Snapshots: b.Snapshots, FirstAttempts: maxCounted, Retries: 2000}, b, "the third webhook is disabled")
	})
}

var backlogWebhooks = []string{"00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002",
	"00000000-0000-0000-0000-000000000003"}

func ownerOf(t *testing.T, d *db.DB, webhooks ...string) uuid.UUID {
	t.Helper()
	owner := uuid.New()
	_, err := d.Writer().Exec(`INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 VALUES ($1, 'a', 'a', 'https://shop.example', 'XAF', 'CM', '{}', '[]', $2, $2)`, owner, d.Now())
	require.NoError(t, err)
	for i, webhook := range webhooks {
		_, err := d.Writer().Exec(`INSERT INTO webhooks (id, store_id, url, events, secret, secret_key, enabled, created_at, updated_at)
 VALUES ($1, $2, 'https://receiver.example', '[]', $3, 'key', $4, $5, $5)`, webhook, owner, []byte{}, i < 2, d.Now())
		require.NoError(t, err)
	}
	return owner
}

func explainWith(t *testing.T, d *db.DB, verb, statement string) string {
	t.Helper()
	rows, err := d.Reader().Query(verb + statement)
	require.NoError(t, err)
	columns, err := rows.Columns()
	require.NoError(t, err)
	var text strings.Builder
	for rows.Next() {
		into := make([]any, len(columns))
		for i := range into {
			into[i] = new(any)
		}
		var line string
		into[len(into)-1] = &line
		require.NoError(t, rows.Scan(into...))
		text.WriteString(line + "\n")
	}
	require.NoError(t, rows.Err())
	return text.String()
}

func TestBacklogTellsWhatThereIsToDo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	dbtest.RunWith(t, db.Config{Clock: func() time.Time { return now }}, func(t *testing.T, d *db.DB) {
		expect := func(text string) {
			t.Helper()
			var err error
			for tries := 0; tries == 0 || err != nil && tries < 10; tries++ { // a busy machine may need longer than collectTimeout
				err = testutil.CollectAndCompare(NewCollector(d, slog.New(slog.DiscardHandler)), strings.NewReader(text), metricNames...)
			}
			require.NoError(t, err)
		}
		const help = `# HELP storefront_deliveries_waiting Deliveries that wait for their first attempt or for a retry, or are in it, counted up to 10000 each. Read from the database: every server and worker on it reports the same value, so take the max and do not add.
# TYPE storefront_deliveries_waiting gauge
storefront_deliveries_waiting{attempt="first"} FIRST
storefront_deliveries_waiting{attempt="retry"} RETRY
# HELP storefront_delivery_lag_seconds For how long the next delivery of a webhook has been due without an attempt; 0 if none is. Read from the database: every server and worker on it reports the same value, so take the max and do not add.
# TYPE storefront_delivery_lag_seconds gauge
storefront_delivery_lag_seconds LAG
# HELP storefront_forgettings_failing Customers who are still to be forgotten because the last step of that failed; each is tried again. Read from the database: every server and worker on it reports the same value, so take the max and do not add.
# TYPE storefront_forgettings_failing gauge
storefront_forgettings_failing FORGETTINGS
# HELP storefront_notices_failing_seconds For how long the address of notices has accepted none; 0 if it does. Read from the database: every server and worker on it reports the same value, so take the max and do not add.
# TYPE storefront_notices_failing_seconds gauge
storefront_notices_failing_seconds 0
`
		forgettings, backup := 0, "3600"
		text := func(lag, first, retry string) string {
			age := ""
			if d.Dialect() == entdialect.SQLite { // only SQLite has backups by the service
				age = "# HELP storefront_backup_age_seconds Age of the last verified backup of a SQLite database; without one, of the database. " +
					"Read from the database: every server and worker on it reports the same value, so take the max and do not add.\n" +
					"# TYPE storefront_backup_age_seconds gauge\nstorefront_backup_age_seconds " + backup + "\n"
			}
			return age + strings.NewReplacer("FORGETTINGS", strconv.Itoa(forgettings), "LAG", lag, "FIRST", first, "RETRY",
				retry).Replace(help)
		}
		if d.Dialect() == entdialect.SQLite {
			_, err := d.Writer().Exec("UPDATE goose_db_version SET tstamp = '2026-11-21 08:00:00'")
			require.NoError(t, err)
		}
		expect(text("0", "0", "0"))
		if d.Dialect() == entdialect.SQLite {
			for _, began := range []time.Time{now.Add(-time.Minute), now.Add(-time.Second)} {
				require.NoError(t, hook.Run(t.Context(), d, func(c *hook.Change) error { return MarkBackup(c, c.Tx, began) }))
			}
			backup = "1"
		}

		owner, webhook := ownerOf(t, d, backlogWebhooks...), backlogWebhooks[0]
		for i, retry := range []bool{false, true, true} {
			_, err := d.Writer().Exec(`INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, retry, due_at, attempts, epoch, created_at)
 VALUES ($1, $2, $3, $4, 'order.paid', $5, $6, $7, 1, $6)`, uuid.New(), owner, webhook, uuid.New(), retry, now.Add(time.Duration(i-1)*90*time.Second), []byte("[]"))
			require.NoError(t, err)
		}
		for failures, finished := range []*time.Time{nil, nil, &now} {
			_, err := d.Writer().Exec(`INSERT INTO forgettings (id, store_id, progress, begun_at, due_at, failures, finished_at)
 VALUES ($1, $2, $3, $4, $4, $5, $6)`, uuid.New(), owner, []byte("{}"), now, failures, finished)
			require.NoError(t, err)
		}
		forgettings = 1 // of the three erasures two have failures, and one of these two is finished
		expect(text("90", "1", "2"))
		_, err := d.Writer().Exec("UPDATE deliveries SET lease = $1, leased_until = $2 WHERE retry = false", uuid.New(), now.Add(time.Second))
		require.NoError(t, err)
		expect(text("0", "1", "2")) // a worker makes the attempt
		_, err = d.Writer().Exec("UPDATE deliveries SET leased_until = $1 WHERE retry = false", now)
		require.NoError(t, err)
		expect(text("90", "1", "2")) // the lease has ended: the worker has died
		_, err = d.Writer().Exec("UPDATE webhooks SET epoch = 2 WHERE id = $1", webhook)
		require.NoError(t, err)
		expect(text("0", "0", "0"))
	})
}

var metricNames = []string{"storefront_backup_age_seconds", "storefront_deliveries_waiting", "storefront_forgettings_failing",
	"storefront_notices_failing_seconds", "storefront_delivery_lag_seconds"}

func TestASnapshotThatIsHeldOpenIsSeen(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		gauges := func() int {
			return testutil.CollectAndCount(NewCollector(d, slog.New(slog.DiscardHandler)), "storefront_snapshot_age_seconds", "storefront_dead_rows")
		}
		if d.Dialect() == entdialect.SQLite {
			none, err := ReadSnapshots(t.Context(), d)
			require.NoError(t, err)
			require.Nil(t, none)
			require.Zero(t, gauges())
			return
		}
		tx, err := d.Writer().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		require.NoError(t, err)
		_, err = tx.Exec("SET LOCAL application_name = 'a dump'; SELECT 1")
		require.NoError(t, err)
		found, err := ReadSnapshots(t.Context(), d)
		require.NoError(t, err)
		held := func(h HeldSnapshot) bool { return strings.Contains(h.Holder, "(a dump, idle in transaction)") }
		i := slices.IndexFunc(found.Held, held)
		require.GreaterOrEqual(t, i, 0, "%+v", found.Held)
		require.Positive(t, *found.Held[i].Age)
		require.GreaterOrEqual(t, found.Oldest(), *found.Held[i].Age)
		require.Equal(t, 2, gauges())
		require.NoError(t, tx.Rollback())
		found, err = ReadSnapshots(t.Context(), d)
		require.NoError(t, err)
		require.False(t, slices.ContainsFunc(found.Held, held))
	})
}

func TestBacklogIsNotReadAtEveryScrape(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	c := NewCollector(nil, slog.New(slog.NewTextHandler(&logged, nil)))
	looks, away := 0, errors.New("away")
	c.read = func(ctx context.Context, _ *db.DB) (Backlog, error) {
		_, bounded := ctx.Deadline()
		require.True(t, bounded)
		if looks++; looks == 2 {
			return Backlog{}, away
		}
		return Backlog{Retries: looks}, nil
	}
	start := time.Now()
	for _, row := range []struct {
		after time.Duration
		want  int
		err   error
	}{
		{0, 1, nil}, {collectEvery - 1, 1, nil},
		{collectEvery, 0, away}, {2*collectEvery - 1, 0, away}, // a reading that failed is not repeated within collectEvery
		{2 * collectEvery, 3, nil},
	} {
		b, err := c.backlog(start.Add(row.after))
		require.Equal(t, row.want, b.Retries)
		require.ErrorIs(t, err, row.err)
	}
	require.Equal(t, 3, looks)
	require.Equal(t, 1, strings.Count(logged.String(), "backlog not read"))
	c.at, c.err = time.Now(), away
	require.Zero(t, testutil.CollectAndCount(c), "what is not known is not told")
}
