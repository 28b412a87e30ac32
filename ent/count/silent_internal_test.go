package count

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

// A server vanishes silently behind a proxy.
func TestFoldingPassesAServerThatFellSilent(t *testing.T) {
	t.Parallel()
	direct := dbtest.URL(t, dbtest.Postgres)
	way := dbtest.NewProxy(t, direct)
	open := func(url string) *db.DB {
		d, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 1})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		return d
	}
	far, near := open(way.URL), open(direct)
	folded := func() {
		t.Helper()
		_, err := near.Writer().ExecContext(t.Context(),
			"INSERT INTO row_deltas (store_id, kind, day, status, type, change) VALUES ($1, 'orders', 1, '', '', 1)", uuid.New())
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			var left int
			require.NoError(t, near.Reader().QueryRowContext(t.Context(), "SELECT count(*) FROM row_deltas").Scan(&left))
			return left == 0
		}, 2*time.Minute, 10*time.Millisecond)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c := New(far)
		c.errorPause, c.foldTimeout = time.Millisecond, time.Second
		c.Run(ctx, slog.New(slog.DiscardHandler))
	}()
	folded()
	way.Freeze()
	folded()
	stop()
	<-ended
}
