package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/monitor"
)

func TestDevShowsServerAndWorkerTogether(t *testing.T) {
	t.Parallel()
	dev := startCommand(t, "Ctrl-C", "dev", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--data", t.TempDir())
	address := regexp.MustCompile(`operator +(http://\S+)`).FindStringSubmatch(dev.said)[1]
	metrics := page(t, address+"/metrics")
	require.Contains(t, metrics, "\nstorefront_attempts_limit 256\n")
	require.Contains(t, metrics, "\nstorefront_rate_limit_hits_total{limit=\"key\"} 0\n")
	require.Contains(t, metrics, "\nstorefront_outbox_rows ")
	require.Equal(t, http.StatusNotFound, status(t, address+"/debug/pprof/heap", ""), "there is no token to ask for")
	require.Equal(t, 0, dev.stop())
}

// net/http ends the connection of a request that panics and logs it; the worker's own listener goes on, and reads no
// more than it needs.
func TestAWorkersListenerOutlivesAPanic(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	c := monitor.Config{
		Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.NewJSONHandler(&logged, nil)),
		Ready: func(context.Context) error { panic("the check broke") },
	}
	require.NoError(t, monitored{AdminAddr: "127.0.0.1:0"}.beside(t.Context(), c, func(ctx context.Context) error {
		address := "http://" + regexp.MustCompile(`"admin_addr":"([^"]+)"`).FindStringSubmatch(logged.String())[1]
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
		require.NoError(t, err)
		_, err = http.DefaultClient.Do(request) //nolint:bodyclose // There is no answer.
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, http.StatusOK, status(t, address+"/healthz", ""), "it goes on")
		return nil
	}))
	require.Contains(t, logged.String(), "the check broke")
}

func TestAListenerThatCannotBe(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	c := monitor.Config{Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler)}
	for want, m := range map[string]monitored{
		"--admin-token: must have at least":        {AdminAddr: "127.0.0.1:0", AdminToken: "short"},
		"listen on " + taken.Addr().String() + ":": {AdminAddr: taken.Addr().String()},
	} {
		err := m.beside(t.Context(), c, func(context.Context) error { t.Error("it works"); return nil })
		require.ErrorContains(t, err, want)
	}
	away := errors.New("away")
	require.Equal(t, away, monitored{}.beside(t.Context(), c, func(context.Context) error { return away }), "off")
}
