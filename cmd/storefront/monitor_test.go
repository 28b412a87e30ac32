package main

import (
	"context"
	"errors"
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
