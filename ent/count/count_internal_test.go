package count

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
)

var day0 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func exec(t *testing.T, d *db.DB, query string, args ...any) {
	t.Helper()
	_, err := d.Writer().ExecContext(context.Background(), query, args...)
	require.NoError(t, err)
}

// newStore creates a store with n customers, created 90 minutes apart from day0 on.
func newStore(t *testing.T, d *db.DB, n int) uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	exec(t, d, "INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, "+
		"updated_at)"+
		" VALUES ($1, 'S', $2, 'u', 'XAF', 'CM', '{}', '[]', $3, $3)", id, id.String(), day0)
	for i := range n {
		require.NoError(t, insertCustomer(d, id, day0.Add(time.Duration(i)*90*time.Minute)))
	}
	return id
}

func insertCustomer(d *db.DB, store uuid.UUID, at time.Time) error {
	id := uuid.New()
	_, err := d.Writer().ExecContext(context.Background(),
		"INSERT INTO customers (id, store_id, email, search, created_at, updated_at) VALUES ($1, $2, $3, '', $4, $4)",
		id, store, id.String(), at)
	return err
}

// total returns the total of the list of the store's customers.
func total(t *testing.T, c *Counts, store uuid.UUID) int64 {
	t.Helper()
	_, n, err := resource.Customers(context.Background(), c.Lists(context.Background()), tenant.Store{ID: store, Currency: "XAF"}, "",
		resource.Page{Size: 1})
	require.NoError(t, err)
	return n
}

// Recount may take longer than the database's timeout for statements.
func TestCountingIsNoStatementThatTimesOut(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{StatementTimeout: 2 * time.Second})
	store := newStore(t, d, 1)
	exec(t, d, `CREATE FUNCTION count_slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2.1); RETURN NEW; END'`)
	exec(t, d, "CREATE TRIGGER slow BEFORE INSERT ON row_counts FOR EACH ROW EXECUTE FUNCTION count_slowly()")
	rows, err := New(d).Recount(t.Context(), store)
	require.NoError(t, err)
	require.EqualValues(t, 1, rows)
	require.EqualValues(t, 1, total(t, New(d), store))
}

func TestARecountRepairsWrongCounts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		c := New(d)
		store := newStore(t, d, 40)
		other := newStore(t, d, 3)
		_, err := c.Fold(t.Context())
		require.NoError(t, err)
		exec(t, d, "UPDATE row_counts SET total = total + 1 WHERE days = 1 AND first_day = $1", resource.Day(day0))
		wrong, err := c.Mismatches(t.Context(), store, "customers")
		require.NoError(t, err)
		require.Equal(t, 1, wrong)
		exec(t, d, "UPDATE row_counts SET total = 99 WHERE days = 32")
		require.EqualValues(t, 99, total(t, c, store))

		rows, err := c.Recount(t.Context(), store)
		require.NoError(t, err)
		require.EqualValues(t, 40, rows)
		require.EqualValues(t, 40, total(t, c, store))
		require.EqualValues(t, 99, total(t, c, other), "another store's are left alone")
	})
}

// The triggers also count changes by hand or by another release.
func TestEveryCountedTableHasItsTriggers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		query := "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = $1 AND name NOT LIKE '%reserved_id'"
		if New(d).dialect != sqlite {
			query = "SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal AND tgname LIKE 'count!_%' " +
				"ESCAPE '!'"
		}
		for _, kind := range Kinds() {
			var n int
			require.NoError(t, d.Reader().QueryRow(query, kind).Scan(&n))
			require.Equal(t, 3, n, "%s: a migration that rebuilds a table must make its triggers again (00002_since_2026_09.sql)", kind)
		}
	})
}

func TestKeepFolds(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{})
	store := newStore(t, d, 20)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var kept errgroup.Group
	kept.Go(func() error { New(d).Run(ctx, slog.New(slog.DiscardHandler)); return nil })
	require.Eventually(t, func() bool { return dbtest.Count(t, d, "row_deltas") == 0 }, time.Minute, 10*time.Millisecond)
	require.EqualValues(t, 20, total(t, New(d), store))
	cancel()
	require.NoError(t, kept.Wait())
}
