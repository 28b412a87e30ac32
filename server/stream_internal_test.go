package server

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/edge"
)

// A stream may last longer than a request, and ends without an error.
func TestAStreamLastsUntilTheServerStops(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	running, err := New(Config{
		Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", AdminOpen: true, DB: dbtest.New(t, dbtest.SQLite, db.Config{}),
		Timeouts: edge.Timeouts{Request: timeout}, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	client, err := rpc.NewClient("http://"+running.AdminAddr().String(), "")
	require.NoError(t, err)
	_, err = client.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)

	var got []*adminv1.Event
	began := time.Now()
	err = client.Watch(t.Context(), &adminv1.WatchEventsRequest{Store: "s"}, func(answer *adminv1.WatchEventsResponse) error {
		if got = append(got, answer.GetEvents()...); len(got) == 0 {
			time.AfterFunc(4*timeout, func() { _, _ = client.CreatePing(t.Context(), &adminv1.CreatePingRequest{Store: "s"}) })
			return nil
		}
		stop()
		return nil
	})
	require.NoError(t, err, "the server ends the stream")
	require.Len(t, got, 1)
	require.Greater(t, time.Since(began), 4*timeout)
	require.NoError(t, <-ended, "it does not hold the server up")
}
