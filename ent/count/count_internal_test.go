package count

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
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

// day0 is the first of the days that the tests' rows lie in.
var day0 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func exec(t *testing.T, s *db.DB, query string, args ...any) {
	t.Helper()
	_, err := s.Writer().ExecContext(context.Background(), query, args...)
	require.NoError(t, err)
}

// newStore makes a store with n customers, one each 90 minutes.
func newStore(t *testing.T, s *db.DB, n int) uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	exec(t, s, "INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)"+
		" VALUES ($1, 'S', $2, 'u', 'XAF', 'CM', '{}', '[]', $3, $3)", id, id.String(), day0)
	for i := range n {
		require.NoError(t, insertCustomer(s, id, day0.Add(time.Duration(i)*90*time.Minute)))
	}
	return id
}

func insertCustomer(s *db.DB, store uuid.UUID, at time.Time) error {
	id := uuid.New()
	_, err := s.Writer().ExecContext(context.Background(), "INSERT INTO customers (id, store_id, email, search, created_at, updated_at) VALUES ($1, $2, $3, '', $4, $4)",
		id, store, id.String(), at)
	return err
}

// forget makes the database one whose rows were there before the counts.
func forget(t *testing.T, s *db.DB) {
	t.Helper()
	exec(t, s, "UPDATE row_count_fills SET done = $1", false)
	exec(t, s, "DELETE FROM row_counts")
	if On(s).postgres() {
		exec(t, s, "DELETE FROM row_deltas")
	}
}

// total is how many customers a list of the store shows.
func total(t *testing.T, c *Counts, store uuid.UUID) int64 {
	t.Helper()
	_, n, err := resource.Customers(context.Background(), c.Lists(context.Background()), tenant.Store{ID: store, Currency: "XAF"}, "", resource.Page{Size: 1})
	require.NoError(t, err)
	return n
}

func TestAnExistingDatabaseIsCountedWhileItIsUsed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := On(s)
		c.batchRows = 60
		stores := []uuid.UUID{newStore(t, s, 0), newStore(t, s, 300), newStore(t, s, 1), newStore(t, s, 150)}
		forget(t, s)
		require.EqualValues(t, 300, total(t, c, stores[1]), "before")
		require.False(t, c.complete.Load())

		var others errgroup.Group
		for n := range 2 {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			others.Go(func() error {
				for ctx.Err() == nil {
					if err := insertCustomer(s, stores[r.IntN(4)], day0.AddDate(0, 0, r.IntN(30)-5)); err != nil {
						return err
					}
				}
				return nil
			})
		}
		others.Go(func() error {
			for ctx.Err() == nil {
				if _, err := c.Fold(ctx); err != nil && ctx.Err() == nil {
					return err
				}
			}
			return nil
		})
		batches, done := 0, false
		for ; !done; batches++ {
			var err error
			// Two processes take turns, and one may come too late.
			var pair errgroup.Group
			pair.Go(func() error { _, err := c.Fill(ctx); return err })
			done, err = c.Fill(ctx)
			require.NoError(t, err)
			require.NoError(t, pair.Wait())
		}
		require.Greater(t, batches, 4, "it takes several batches")
		cancel()
		require.NoError(t, others.Wait())

		time.Sleep(interval) // for the next look at whether all is counted
		for _, store := range stores {
			var rows int64
			require.NoError(t, s.Reader().QueryRow("SELECT count(*) FROM customers WHERE store_id = $1", store).Scan(&rows))
			require.Equal(t, rows, total(t, c, store))
			for _, kind := range Kinds() {
				wrong, err := c.Wrong(t.Context(), store, kind)
				require.NoError(t, err)
				require.Zero(t, wrong, kind)
			}
		}
		require.True(t, c.complete.Load())
	})
}

func TestAClockThatWasSetBackDoesNotKeepListsFromTheCounts(t *testing.T) {
	t.Parallel()
	c := On(dbtest.New(t, dbtest.SQLite, db.Config{}))
	c.asked.Store(time.Now().Add(time.Hour).UnixMilli())
	require.True(t, c.isComplete(t.Context()))
}

// A day may have any number of rows, and counting them takes its time.
func TestCountingIsNoStatementThatTimesOut(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.Postgres, db.Config{StatementTimeout: 2 * time.Second})
	store := newStore(t, s, 1)
	forget(t, s)
	exec(t, s, `CREATE FUNCTION count_slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2.1); RETURN NEW; END'`)
	exec(t, s, "CREATE TRIGGER slow BEFORE INSERT ON row_counts FOR EACH ROW EXECUTE FUNCTION count_slowly()")
	for done := false; !done; {
		var err error
		done, err = On(s).Fill(t.Context())
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, total(t, On(s), store))
}

// A trigger that was disabled, or a part that was restored, leaves the counts wrong.
func TestARecountRepairsWrongCounts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		c := On(s)
		store := newStore(t, s, 40)
		other := newStore(t, s, 3)
		_, err := c.Fold(t.Context())
		require.NoError(t, err)
		exec(t, s, "UPDATE row_counts SET total = total + 1 WHERE days = 1 AND first_day = $1", resource.Day(day0))
		wrong, err := c.Wrong(t.Context(), store, "customers")
		require.NoError(t, err)
		require.Equal(t, 1, wrong)
		exec(t, s, "UPDATE row_counts SET total = 99 WHERE days = 32")
		require.EqualValues(t, 99, total(t, c, store))

		rows, err := c.Recount(t.Context(), store)
		require.NoError(t, err)
		require.EqualValues(t, 40, rows)
		require.EqualValues(t, 40, total(t, c, store))
		require.EqualValues(t, 99, total(t, c, other), "another store's are left alone")
	})
}

// Who deletes, moves or loads rows by hand is counted too, whatever release did it.
func TestEveryCountedTableHasItsTriggers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		query := "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = $1"
		if On(s).postgres() {
			query = "SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal AND tgname LIKE 'count!_%' ESCAPE '!'"
		}
		for _, kind := range Kinds() {
			var n int
			require.NoError(t, s.Reader().QueryRow(query, kind).Scan(&n))
			require.Equal(t, 3, n, "%s: a migration that rebuilds a table must make its triggers again (00007_row_counts.sql)", kind)
		}
	})
}

func TestKeepFoldsAndFills(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		store := newStore(t, s, 20)
		forget(t, s)
		require.NoError(t, insertCustomer(s, store, day0))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var kept errgroup.Group
		kept.Go(func() error { On(s).Keep(ctx, slog.New(slog.DiscardHandler)); return nil })
		waiting := "SELECT count(*) FROM row_count_fills WHERE NOT done"
		if On(s).postgres() {
			waiting = fmt.Sprintf("SELECT (%s) + (SELECT count(*) FROM row_deltas)", waiting)
		}
		require.Eventually(t, func() bool {
			var n int
			return s.Reader().QueryRow(waiting).Scan(&n) == nil && n == 0
		}, time.Minute, 10*time.Millisecond)
		require.EqualValues(t, 21, total(t, On(s), store))
		cancel()
		require.NoError(t, kept.Wait())
	})
}
