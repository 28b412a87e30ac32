package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/server/transfer"
)

const stuckAt = 2750

// stuckTitle is an item at which the database hangs, after the order and before the end of the batch.
const stuckTitle = "Stuck here"

// stick creates, by the kind of database, a trigger that hangs at stuckTitle. stuck reports whether a statement hangs, and
// loosen removes the trigger.
var stick = map[string]func(t *testing.T, d *db.DB) (stuck func() bool, loosen func()){
	dbtest.SQLite: func(t *testing.T, d *db.DB) (func() bool, func()) {
		// The trigger counts for hours. Its count ends with the process of the import.
		_, err := d.Writer().ExecContext(t.Context(), `CREATE TRIGGER stuck AFTER INSERT ON order_items WHEN NEW.title = '`+stuckTitle+`' BEGIN
 SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n LIMIT 1000000000000); END`)
		require.NoError(t, err)
		// SQLite does not show a hanging statement, so stuck waits until the earlier batches are stored and nobody could write
		// for a second.
		since := time.Now()
		stuck := func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := d.Writer().ExecContext(ctx, "UPDATE stores SET name = name WHERE false")
			if err == nil || counted(t, d, "SELECT count(*) FROM orders") < stuckAt-stuckAt%transfer.BatchRows {
				since = time.Now()
			}
			return time.Since(since) > time.Second
		}
		return stuck, func() {
			_, err := d.Writer().ExecContext(t.Context(), "DROP TRIGGER stuck")
			require.NoError(t, err)
		}
	},
	dbtest.Postgres: func(t *testing.T, d *db.DB) (func() bool, func()) {
		exec := func(statement string) {
			_, err := d.Writer().ExecContext(t.Context(), statement)
			require.NoError(t, err)
		}
		exec(`CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3600); RETURN NULL; END $$`)
		exec("CREATE TRIGGER stuck AFTER INSERT ON order_items FOR EACH ROW WHEN (NEW.title = '" + stuckTitle +
			"') EXECUTE FUNCTION stuck()")
		id, sleeping := "pid", " FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
		if len(dbtest.Citus()) > 0 { // on a Citus cluster, look on all nodes
			id, sleeping = "global_pid", strings.Replace(sleeping, "pg_stat", "citus_stat", 1)
		}
		stuck := func() bool { return counted(t, d, "SELECT count(*)"+sleeping) == 1 }
		return stuck, func() {
			// PostgreSQL may still run the killed import's statement, which keeps the trigger from being dropped.
			exec("SELECT pg_terminate_backend(" + id + ")" + sleeping)
			exec("DROP TRIGGER stuck ON order_items")
		}
	},
}

func counted(t *testing.T, d *db.DB, query string) int {
	t.Helper()
	var n sql.NullInt64
	require.NoError(t, d.Reader().QueryRowContext(t.Context(), query).Scan(&n))
	return int(n.Int64)
}

func journaled(t *testing.T, d *db.DB) int {
	t.Helper()
	entries, err := d.Client().ActivityEntry.Query().Where(activityentry.Action("store.imported")).All(t.Context())
	require.NoError(t, err)
	sum := 0
	for _, e := range entries {
		var changes struct{ Orders struct{ To int } }
		require.NoError(t, json.Unmarshal(e.Changes, &changes))
		sum += changes.Orders.To
	}
	return sum
}

// TestAnImportThatIsKilledIsContinued kills imports in a batch and at random times, and runs them again. Every row is stored
// once.
func TestAnImportThatIsKilledIsContinued(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it kills imports")
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			const rows, buyers = 6000, 700
			url := dbtest.URL(t, database)
			d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 4, LockTimeout: 10 * time.Second})
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Close()) }()
			if database == dbtest.Postgres {
				url += "&application_name=import&client_connection_check_interval=100"
			}
			const imports = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'import'"
			i := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": url}}
			i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
			var lines bytes.Buffer
			lines.WriteString("reference,status,total,email,createdAt,itemTitle,itemQuantity,itemPrice\n")
			for n := range rows {
				title := "Guide"
				if n == stuckAt {
					title = stuckTitle
				}
				_, _ = fmt.Fprintf(&lines, "R-%d,PAID,500,buyer%d@example.com,2026-0%d-01,%s,2,250\n", n, n%buyers, n%9+1, title)
			}
			file := filepath.Join(t.TempDir(), "orders.csv")
			require.NoError(t, os.WriteFile(file, lines.Bytes(), 0o600))

			// kill calls at() and kills the import. It requires that counts and rows agree, and returns the number of stored
			// orders.
			kill := func(at func()) int {
				t.Helper()
				c := i.command("storefront", "import", "--store", "s", "orders", file)
				var said bytes.Buffer
				c.Stderr = &said
				require.NoError(t, c.Start())
				at()
				_ = c.Process.Kill() // fails if the import has ended
				_ = c.Wait()
				require.Empty(t, said.String())
				// PostgreSQL may still execute a statement of the killed import.
				require.Eventually(t, func() bool { return database == dbtest.SQLite || counted(t, d, imports) == 0 }, time.Minute,
					time.Millisecond)
				orders := counted(t, d, "SELECT count(*) FROM orders")
				require.Equal(t, orders, counted(t, d, "SELECT count(*) FROM order_items"), "an order has its item")
				require.Equal(t, orders, counted(t, d, "SELECT sum(orders_count) FROM customers"), "a customer counts the orders")
				require.Equal(t, 500*orders, counted(t, d, "SELECT sum(total_paid) FROM customers"))
				require.Equal(t, orders, counted(t, d, `SELECT sum(total) FROM (SELECT total, days, kind FROM row_counts
 UNION ALL SELECT change, 1, kind FROM row_deltas) c WHERE days = 1 AND kind = 'orders'`), "a list counts them")
				require.Equal(t, orders, journaled(t, d), "the journal counts what is stored")
				require.Equal(t, min(orders, buyers), counted(t, d, "SELECT count(*) FROM customers"))
				return orders
			}
			stuck, loosen := stick[database](t, d)
			before := kill(func() { require.Eventually(t, stuck, time.Minute, 10*time.Millisecond) })
			require.Positive(t, before, "batches before it are stored")
			require.Less(t, before, stuckAt, "nothing of the batch that was under way is")
			loosen()
			for range 3 {
				now := kill(func() {
					require.Eventually(t, func() bool { return counted(t, d, "SELECT count(*) FROM orders") > before }, time.Minute,
						time.Millisecond)
					time.Sleep(rand.N(50 * time.Millisecond))
				})
				require.Greater(t, now, before, "an import goes on where the killed one was")
				if before = now; before == rows {
					break
				}
			}
			var done importResult
			i.run(&done, "import", "--store", "s", "orders", file)
			require.Equal(t, []int{rows, rows - before, before}, []int{done.Lines, done.Stored, done.Skipped})
			require.Equal(t, rows, kill(func() { time.Sleep(time.Second) }))
			require.Equal(t, rows, counted(t, d, "SELECT count(DISTINCT reference) FROM orders"))
			for page, want := range map[string]int{"60": 100, "61": 0} {
				var list []struct{ Reference string }
				i.run(&list, "order", "list", "--store", "s", "--page", page, "--page-size", "100")
				require.Len(t, list, want, "page %s", page)
			}
			found := i.examine()
			require.Equal(t, doctor.OK, found["counts"].Status, found["counts"].Message)
		})
	}
}
