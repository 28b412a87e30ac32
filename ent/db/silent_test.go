package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

const silentGuard = time.Minute

func announceUntil(t *testing.T, d *db.DB, signal <-chan struct{}) {
	t.Helper()
	deadline := time.After(silentGuard)
	for {
		d.Announce()
		select {
		case <-signal:
			return
		case <-deadline:
			t.Fatal("nobody hears it")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// quiet returns once no listener has received anything for a while.
func quiet(signals ...<-chan struct{}) {
	for _, signal := range signals {
		for heard := true; heard; {
			select {
			case <-signal:
			case <-time.After(300 * time.Millisecond):
				heard = false
			}
		}
	}
}

// The announcer and the listener open new connections, and nothing waits for the old ones.
func TestNotificationsPassAServerThatFellSilent(t *testing.T) {
	t.Parallel()
	direct := dbtest.URL(t, dbtest.Postgres)
	way := dbtest.NewProxy(t, direct)
	pinging := func(url string) *db.DB {
		d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 4, PingInterval: time.Second / 3})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		return d
	}
	far, near := pinging(way.URL), pinging(direct)
	fromFar, fromNear := near.Listen(t.Context()), far.Listen(t.Context())
	announceUntil(t, far, fromFar)
	announceUntil(t, near, fromNear)
	quiet(fromFar, fromNear)

	way.Freeze()
	announceUntil(t, far, fromFar)
	quiet(fromNear)
	announceUntil(t, near, fromNear)

	way.Freeze()
	ended := make(chan error, 1)
	far.Announce()
	go func() { ended <- far.Close() }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(silentGuard):
		t.Fatal("the database is not closed")
	}
}

func TestAMigrationEndsOnAServerThatFellSilent(t *testing.T) {
	t.Parallel()
	way := dbtest.NewProxy(t, dbtest.URL(t, dbtest.Postgres))
	migrator, err := open(t, way.URL).Migrator()
	require.NoError(t, err)
	defer migrator.Close()
	migrator.SetMaxOpenConns(1)
	require.NoError(t, migrator.PingContext(t.Context()))
	way.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := migrator.ExecContext(ctx, "SELECT 1; SELECT 2")
		ended <- err
	}()
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(silentGuard):
		t.Fatal("it waits for what never comes")
	}
}

func TestClosingWhatWasResetIsNoFailure(t *testing.T) {
	t.Parallel()
	way := dbtest.NewProxy(t, dbtest.URL(t, dbtest.Postgres))
	d, err := hook.Open(t.Context(), db.Config{URL: way.URL, AdmissionConns: 2})
	require.NoError(t, err)
	require.NoError(t, d.Ping(t.Context()))
	require.NoError(t, d.CheckWritable(t.Context()))
	way.Reset()
	require.NoError(t, d.Close())
}
