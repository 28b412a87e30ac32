package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	entstore "go.storefront.example/gen/ent/store"
)

func TestWithTxCommitsAndHasOneTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}
	dbtest.RunWith(t, db.Config{Clock: clock}, func(t *testing.T, d *db.DB) {
		var first, second time.Time
		require.NoError(t, hook.Run(asOperator(uuid.New()), d, func(c *hook.Change) error {
			first = c.Time()
			if err := newStore(c, "shop", first).Exec(c); err != nil {
				return err
			}
			second = c.Time()
			return nil
		}))
		require.Equal(t, first, second)
		row, err := d.Client().Store.Query().Where(entstore.Slug("shop")).Only(context.Background())
		require.NoError(t, err)
		require.Equal(t, first, row.CreatedAt)
	})
}

func TestWithTxRollsBackOnAnErrorAndOnAPanic(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		refused := errors.New("refused")
		err := hook.Run(asOperator(uuid.New()), d, func(c *hook.Change) error {
			require.NoError(t, newStore(c, "shop", d.Now()).Exec(c))
			return refused
		})
		require.ErrorIs(t, err, refused)
		require.PanicsWithValue(t, "boom", func() {
			_ = hook.Run(asOperator(uuid.New()), d, func(c *hook.Change) error {
				require.NoError(t, newStore(c, "shop", d.Now()).Exec(c))
				panic("boom")
			})
		})
		n, err := d.Client().Store.Query().Count(context.Background())
		require.NoError(t, err)
		require.Zero(t, n)
		addStore(t, d, "after", d.Now()) // the single writer is free again
	})
}

func TestWithTxRefusesToNest(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		err := hook.Run(context.Background(), d, func(c *hook.Change) error {
			return hook.Run(c, d, func(*hook.Change) error { return nil })
		})
		require.ErrorContains(t, err, "inside a transaction")
	})
}

func TestAChangeOutsideATransactionIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		id := addStore(t, d, "shop", d.Now())
		err := d.Client().Customer.Create().SetStoreID(id).SetEmail("a@example.com").SetSearch("").
			SetCreatedAt(d.Now()).SetUpdatedAt(d.Now()).Exec(asOperator(id))
		require.ErrorContains(t, err, "outside a transaction")
	})
}

func TestWithTxStopsWithItsContext(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(asOperator(uuid.New()))
		err := hook.Run(ctx, d, func(c *hook.Change) error {
			cancel()
			return newStore(c, "shop", d.Now()).Exec(c)
		})
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, db.IsUnreachable(err), "the database is not to blame")
		addStore(t, d, "shop", d.Now())
	})
}

func TestAnErrorOfAUniqueIndexIsKnown(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		id := addStore(t, d, "shop", d.Now())
		runs := 0
		err := hook.Run(asOperator(uuid.New()), d, func(c *hook.Change) error {
			runs++
			return newStore(c, "shop", d.Now()).Exec(c)
		})
		require.True(t, db.IsUnique(err), "%v", err)
		require.False(t, db.IsUnreachable(err))
		require.Equal(t, 5, runs, "another run could find what another transaction has stored")
		err = hook.Run(asOperator(id), d, func(c *hook.Change) error {
			return newStore(c, "other", d.Now()).Exec(c)
		})
		require.True(t, db.IsUnique(err), "a primary key is one too: %v", err)
		require.False(t, db.IsUnique(nil))
	})
}

// PostgreSQL aborts one of two transactions, and WithTx runs it again. On SQLite the second begins when the first has ended.
func TestWithTxRunsTheLoserOfADeadlockAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		a, b := addStore(t, d, "a", d.Now()), addStore(t, d, "b", d.Now())
		var both sync.WaitGroup // done once both transactions have locked their first rows
		both.Add(2)
		transfer := func(ids ...any) error {
			runs := 0
			return hook.Run(asOperator(uuid.New()), d, func(c *hook.Change) error {
				runs++
				for i, id := range ids {
					if _, err := c.Tx.ExecContext(c, "UPDATE stores SET platform_fee_percent = platform_fee_percent + $1 WHERE id = $2", 1,
						id); err != nil {
						return err
					}
					if i == 0 && runs == 1 && d.Reader() == d.Writer() {
						both.Done()
						both.Wait()
					}
				}
				return nil
			})
		}
		results := make(chan error, 2)
		go func() { results <- transfer(a, b) }()
		go func() { results <- transfer(b, a) }()
		require.NoError(t, <-results)
		require.NoError(t, <-results)
		for _, row := range d.Client().Store.Query().AllX(context.Background()) {
			require.InDelta(t, 2, row.PlatformFeePercent, 0, "each transaction counted once")
		}
	})
}

func TestWithTxRunsTheLoserOfASerializationFailureAgain(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{})
	id := addStore(t, d, "shop", d.Now())
	runs := 0
	err := hook.Run(asOperator(id), d, func(c *hook.Change) error {
		runs++
		if _, err := c.Tx.ExecContext(c, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
			return err
		}
		if _, err := c.Tx.Store.Query().Count(c); err != nil { // the first statement begins the snapshot
			return err
		}
		if runs == 1 {
			_, err := d.Writer().Exec("UPDATE stores SET name = $1", "changed meanwhile")
			require.NoError(t, err)
		}
		if err := c.MarkLocked(c.Tx.Store.GetX(c, id)); err != nil {
			return err
		}
		return c.Tx.Store.UpdateOneID(id).SetDescription("mine").Exec(c)
	})
	require.NoError(t, err)
	require.Equal(t, 2, runs)
}

func TestWithTxGivesUpOnATransactionThatAlwaysLoses(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{})
	runs := 0
	err := hook.Run(asOperator(uuid.New()), d, func(c *hook.Change) error {
		runs++
		_, err := c.Tx.ExecContext(c, "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")
		return err
	})
	require.Error(t, err)
	require.Equal(t, 8, runs)
}

func TestAConnectionThatOnlyReadsIsReplaced(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{MaxConns: 1})
	for name, write := range map[string]func() error{
		"in a transaction": func() error {
			return hook.Run(asOperator(uuid.New()), d, func(c *hook.Change) error {
				_, err := c.Tx.ExecContext(c, "SET TRANSACTION READ ONLY")
				require.NoError(t, err)
				return newStore(c, "shop", d.Now()).Exec(c)
			})
		},
		"with parameters": func() error {
			_, err := d.Writer().Exec("UPDATE stores SET slug = slug WHERE slug = $1", "shop")
			return err
		},
		"without": func() error {
			_, err := d.Writer().Exec("UPDATE stores SET slug = slug")
			return err
		},
		"that returns rows": func() error {
			return d.Writer().QueryRow("UPDATE stores SET slug = slug WHERE slug = 'shop' OR $1 RETURNING 1", true).Scan(new(int))
		},
	} {
		_, err := d.Writer().Exec("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
		require.NoError(t, err, name)
		err = write()
		require.True(t, db.IsUnreachable(err), "%s: %v", name, err)
		require.ErrorContains(t, err, "25006", name)
		var only string
		require.NoError(t, d.Reader().QueryRow("SHOW transaction_read_only").Scan(&only))
		require.Equal(t, "off", only, "%s: another connection has taken its place", name)
	}
	addStore(t, d, "shop", d.Now())
}

func TestSettingsHoldOnEachConnection(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{MaxConns: 2, Settings: map[string]string{
		"enable_sort": "off", "storefront.note": `it's "quoted"`,
	}})
	for range 2 {
		conn, err := d.Reader().Conn(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		var sort, note string
		require.NoError(t, conn.QueryRowContext(t.Context(),
			"SELECT current_setting('enable_sort'), current_setting('storefront.note')").Scan(&sort, &note))
		require.Equal(t, []string{"off", `it's "quoted"`}, []string{sort, note})
	}
}

func TestASettingThatTheServerDoesNotKnow(t *testing.T) {
	t.Parallel()
	_, err := hook.Open(t.Context(), db.Config{URL: dbtest.EmptyURL(t, dbtest.Postgres), Settings: map[string]string{"no_such": "1"}})
	require.ErrorContains(t, err, "reach the database: ")
	require.NotContains(t, err.Error(), "\n")
}
