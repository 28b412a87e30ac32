package db_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

// occupy keeps the pooler at url busy until the test ends, with this many clients that run short statements.
func occupy(t *testing.T, url string, clients int) {
	t.Helper()
	cfg, err := pq.NewConfig(url)
	require.NoError(t, err)
	connect, err := pq.NewConnectorConfig(cfg)
	require.NoError(t, err)
	db := sql.OpenDB(connect)
	db.SetMaxIdleConns(clients)
	ctx, stop := context.WithCancel(context.Background())
	var working, ended sync.WaitGroup
	working.Add(clients)
	for range clients {
		ended.Go(func() {
			first := sync.OnceFunc(working.Done)
			defer first()
			for ctx.Err() == nil {
				// Cancelling the statement would end the connection.
				_, _ = db.Exec("SELECT pg_sleep(0.0005)")
				first()
			}
		})
	}
	working.Wait()
	t.Cleanup(func() {
		stop()
		ended.Wait()
		_ = db.Close()
	})
}

func TestAPoolerThatSharesSessionsIsRefused(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"transaction mode":                      {"pool_mode = transaction"},
		"statement mode":                        {"pool_mode = statement"},
		"servers in turns":                      {"pool_mode = transaction", "server_round_robin = 1"},
		"sessions reset after each transaction": {"pool_mode = transaction", "server_reset_query_always = 1"},
		"one server":                            {"pool_mode = transaction", "default_pool_size = 1"},
	} {
		for load, clients := range map[string]int{"idle": 0, "busy": 12} {
			t.Run(name+", "+load, func(t *testing.T) {
				t.Parallel()
				url := dbtest.Pooler(t, dbtest.EmptyURL(t, dbtest.Postgres), append([]string{"default_pool_size = 5"}, settings...)...)
				occupy(t, url, clients)
				for range 10 {
					d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 2})
					if err == nil {
						require.NoError(t, d.Close())
					}
					require.ErrorIs(t, err, db.ErrPooler)
					require.NotContains(t, err.Error(), "\n")
					require.ErrorContains(t, err, "pool_mode = session")
				}
			})
		}
	}
}

func TestAPoolerInSessionModeIsTaken(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"Debian's settings": {}, // pool_mode is then session, PgBouncer's default
		"set explicitly":    {"pool_mode = session", "default_pool_size = 20"},
	} {
		for load, clients := range map[string]int{"idle": 0, "busy": 4} {
			t.Run(name+", "+load, func(t *testing.T) {
				t.Parallel()
				url := dbtest.Pooler(t, dbtest.EmptyURL(t, dbtest.Postgres), settings...)
				occupy(t, url, clients)
				for range 10 {
					// MaxConns bounds the pool, but not the check for a pooler.
					d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 1, Settings: map[string]string{"enable_sort": "off"}})
					require.NoError(t, err)
					var sort string
					require.NoError(t, d.Reader().QueryRow("SELECT current_setting('enable_sort') WHERE $1", true).Scan(&sort))
					require.Equal(t, "off", sort)
					require.NoError(t, d.Close())
				}
			})
		}
	}
}

func TestASessionModePoolerWithOneServerEndsTheLook(t *testing.T) {
	t.Parallel()
	url := dbtest.Pooler(t, dbtest.EmptyURL(t, dbtest.Postgres), "pool_mode = session", "default_pool_size = 1")
	began := time.Now()
	d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 1})
	require.NoError(t, err)
	require.Less(t, time.Since(began), time.Minute)
	var n int
	require.NoError(t, d.Reader().QueryRow("SELECT 7 WHERE $1", true).Scan(&n), "the one connection is left")
	require.NoError(t, d.Close())
}

// Statements then fail as if the database were unavailable, and the server is not ready.
func TestAPoolerThatBeginsToShareSessionsIsNoticed(t *testing.T) {
	t.Parallel()
	url, reload := dbtest.ReloadablePooler(t, dbtest.URL(t, dbtest.Postgres), "pool_mode = session")
	d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, d.CheckWritable(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asked, wrong, unexpected atomic.Int64
	var clients sync.WaitGroup
	for n := range 8 {
		clients.Go(func() {
			// A client notices another client's result, because each has its own statement.
			query := "SELECT $1::int + " + strings.Repeat("0 + ", n) + "1"
			for ctx.Err() == nil {
				var got int
				err := d.Reader().QueryRow(query, n).Scan(&got)
				asked.Add(1)
				switch {
				case err != nil && !db.IsUnreachable(err):
					unexpected.Add(1)
					t.Log(err)
				case err == nil && got != n+1:
					wrong.Add(1)
				}
			}
		})
	}
	require.Eventually(t, func() bool { return asked.Load() > 50 }, time.Minute, time.Millisecond)
	reload("pool_mode = transaction", "default_pool_size = 3")
	require.Eventually(t, func() bool { return errors.Is(d.CheckWritable(t.Context()), db.ErrPooler) }, time.Minute,
		10*time.Millisecond)
	for last := asked.Load() + 50; asked.Load() < last; {
		require.Error(t, d.CheckWritable(t.Context()))
	}
	stop()
	clients.Wait()
	t.Logf("%d asked, %d wrong", asked.Load(), wrong.Load())
	require.Zero(t, unexpected.Load())
	for range 20 { // the pooler is refused even while it is idle
		require.ErrorIs(t, d.CheckWritable(t.Context()), db.ErrPooler)
	}
	reload("pool_mode = session", "default_pool_size = 20")
	require.Eventually(t, func() bool { return d.CheckWritable(t.Context()) == nil && d.Ping(t.Context()) == nil }, time.Minute,
		10*time.Millisecond)
}

func TestNotificationsPassAPoolerInSessionMode(t *testing.T) {
	t.Parallel()
	direct := dbtest.EmptyURL(t, dbtest.Postgres)
	d, err := hook.Open(t.Context(), db.Config{URL: dbtest.Pooler(t, direct, "pool_mode = session"), MaxConns: 2})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	heard := d.Listen(ctx)
	for done := false; !done; {
		d.Announce()
		select {
		case <-heard:
			done = true
		case <-time.After(50 * time.Millisecond): // the listener misses announcements before it has connected
		case <-t.Context().Done():
			t.Fatal("no notification arrives")
		}
	}
	require.NoError(t, d.Close())
}
