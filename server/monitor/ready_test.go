package monitor_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/monitor"
)

// refused returns why a database is not ready, or "" if it is ready.
func refused(t *testing.T, d *db.DB) string {
	t.Helper()
	err := monitor.NewReadiness(d).Check(t.Context())
	if err == nil {
		return ""
	}
	var r *apierr.Refusal
	require.True(t, errors.As(err, &r))
	require.Equal(t, apierr.Unavailable, r.Code)
	return r.Message
}

func TestHoweverManyAskTheDatabaseIsAskedOnce(t *testing.T) {
	t.Parallel()
	var writes atomic.Int32
	d := dbtest.New(t, dbtest.SQLite, db.Config{Observe: func(query string) {
		if strings.HasPrefix(query, "UPDATE goose_db_version") {
			writes.Add(1)
		}
	}})
	ready := monitor.NewReadiness(d)
	var asked sync.WaitGroup
	began := time.Now()
	for range 500 {
		asked.Go(func() { require.NoError(t, ready.Check(t.Context())) })
	}
	asked.Wait()
	require.LessOrEqual(t, int(writes.Load()), 1+int(time.Since(began)/time.Second))

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	fresh := monitor.NewReadiness(d)
	_ = fresh.Check(gone)
	require.NoError(t, fresh.Check(t.Context()))
}

// The check's own connections still work.
func TestAServerWhosePoolIsExhaustedIsNotReady(t *testing.T) {
	t.Parallel()
	for _, name := range dbtest.Databases() {
		d := dbtest.New(t, name, db.Config{MaxConns: 2, AdmissionConns: 1})
		for _, pool := range []*sql.DB{d.Reader(), d.Admissions()} {
			var held []*sql.Conn
			for range pool.Stats().MaxOpenConnections {
				c, err := pool.Conn(t.Context())
				require.NoError(t, err)
				held = append(held, c)
			}
			require.NotEmpty(t, refused(t, d), name)
			for _, c := range held {
				require.NoError(t, c.Close())
			}
			require.Empty(t, refused(t, d), name)
		}
	}
}

func TestADatabaseThatIsSetUpWrongIsNotReady(t *testing.T) {
	t.Parallel()
	through, reload := dbtest.ReloadablePooler(t, dbtest.URL(t, dbtest.Postgres), "pool_mode = session")
	d, err := hook.Open(t.Context(), db.Config{URL: through, MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.Empty(t, refused(t, d))
	reload("pool_mode = transaction")
	require.Eventually(t, func() bool { return strings.Contains(refused(t, d), "set pool_mode = session") }, time.Minute,
		10*time.Millisecond)

	database := dbtest.URL(t, dbtest.Postgres)
	owner, err := hook.Open(t.Context(), db.Config{URL: database, MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, owner.Close()) }()
	_, err = owner.Writer().Exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = elsewhere', " +
		"current_database()); END $$")
	require.NoError(t, err)
	misled, err := hook.Open(t.Context(), db.Config{URL: database, MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, misled.Close()) }()
	require.Contains(t, refused(t, misled), "search_path")
}

func TestADatabaseThatOnlyReadsIsNotReady(t *testing.T) {
	t.Parallel()
	t.Run(dbtest.SQLite, func(t *testing.T) {
		t.Parallel()
		d := dbtest.New(t, dbtest.SQLite, db.Config{})
		require.Empty(t, refused(t, d))
		_, err := d.Writer().Exec("PRAGMA query_only(1)")
		require.NoError(t, err)
		require.Equal(t, "The database cannot be written.", refused(t, d))
		require.Empty(t, refused(t, d), "another connection has taken the place of the one that only reads")
	})
	t.Run(dbtest.Postgres, func(t *testing.T) {
		t.Parallel()
		database := dbtest.URL(t, dbtest.Postgres)
		owner, err := hook.Open(t.Context(), db.Config{URL: database, MaxConns: 2})
		require.NoError(t, err)
		defer func() { require.NoError(t, owner.Close()) }()
		d, err := hook.Open(t.Context(), db.Config{URL: database, MaxConns: 2})
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Close()) }()
		require.Empty(t, refused(t, d))
		requireOnly := func(value string) {
			_, err := owner.Writer().Exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = " + value +
				"', current_database()); END $$")
			require.NoError(t, err)
			_, err = owner.Writer().Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() " +
				"AND pid <> pg_backend_pid()")
			require.NoError(t, err)
		}
		becomes := func(want string) {
			// The first check may get a connection that was just terminated.
			require.Eventually(t, func() bool { return refused(t, d) == want }, time.Minute, time.Millisecond, "%q", want)
		}
		requireOnly("on")
		becomes("The database cannot be written.")
		requireOnly("off")
		becomes("")
	})
}
