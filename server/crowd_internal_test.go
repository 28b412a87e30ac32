package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/crowd"
)

// Whoever opens connections and sends nothing takes no more than the places of a listener, and keeps nobody out.
func TestEachListenerHasSoManyPlaces(t *testing.T) {
	t.Parallel()
	const places = 8
	s, err := New(Config{
		Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", DB: dbtest.New(t, dbtest.SQLite, db.Config{}), MaxConnections: places,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for url, l := range map[string]*crowd.Listener{
		"http://" + s.Addr().String() + "/v1/store":     s.public,
		"http://" + s.AdminAddr().String() + "/healthz": s.admin,
	} {
		for range 3 * places {
			silent, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			defer silent.Close()
		}
		answer, err := http.Get(url)
		require.NoError(t, err, url)
		require.NoError(t, answer.Body.Close())
		load := l.Load()
		require.LessOrEqual(t, load.Open, places, url)
		require.Positive(t, load.Displaced, url)
	}
	stop()
	require.NoError(t, <-ended)
}
