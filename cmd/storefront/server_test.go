package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/monitor"
)

func storefront(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "storefront", args...).Output()
	require.NoError(t, err)
	return out
}

func TestServerServesAndEndsInGoodOrder(t *testing.T) {
	t.Parallel()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.EmptyURL(t, name)
			args := []string{"server", "--migrate", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--payment-links", "off"}
			asked := name == dbtest.Postgres // on PostgreSQL, set flags to other values than their defaults
			if asked {
				args = append(args, "--docs", "on", "--request-log", "off")
			}
			server := exec.CommandContext(t.Context(), "storefront", args...)
			server.Env = append(os.Environ(), "STOREFRONT_DATABASE_URL="+url)
			logs, err := server.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, server.Start())
			var line struct {
				Msg       string
				Addr      string
				AdminAddr string `json:"admin_addr"`
			}
			var all bytes.Buffer
			lines := bufio.NewScanner(logs)
			for line.Msg != "listening" && lines.Scan() {
				all.WriteString(lines.Text() + "\n")
				require.NoError(t, json.Unmarshal(lines.Bytes(), &line), lines.Text())
			}
			require.NotEmpty(t, line.Addr, all.String())

			storefront(t, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM", "--database-url", url)
			var key struct{ ID, Key string }
			require.NoError(t, json.Unmarshal(storefront(t, "key", "create", "--store", "s", "--name", "k",
				"--scopes", "products:read,payment_links:write", "--expires", "never", "-o", "json", "--database-url", url), &key))
			status, body := get(t, "http://"+line.Addr+"/v1/products", "Bearer "+key.Key)
			require.Equal(t, http.StatusOK, status)
			require.EqualValues(t, 0, body["total"])
			r, err := http.NewRequest(http.MethodPost, "http://"+line.Addr+"/v1/payment-links",
				strings.NewReader(`{"title":"x","pricing":"FIXED","amount":5}`))
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+key.Key)
			r.Header.Set("Content-Type", "application/json")
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, http.StatusUnprocessableEntity, answer.StatusCode, "payment links are off")

			// A gRPC-Web answer has HTTP status 200 even if it is an error.
			ctx, call := connect.NewClientContext(t.Context())
			call.RequestHeader().Set("Authorization", "Bearer "+key.Key)
			products := storefrontv1connect.NewProductServiceClient(http.DefaultClient, "http://"+line.Addr, connect.WithGRPCWeb())
			_, err = products.GetProduct(ctx, &storefrontv1.GetProductRequest{Id: uuid.NewString()})
			require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))

			storefront(t, "key", "revoke", key.ID, "--database-url", url)
			status, body = get(t, "http://"+line.Addr+"/v1/products", "Bearer "+key.Key)
			require.Equal(t, http.StatusUnauthorized, status)
			require.Equal(t, "api_key_revoked", body["code"])
			status, _ = get(t, "http://"+line.AdminAddr+"/readyz", "")
			require.Equal(t, http.StatusOK, status)

			// The public listener serves the reference only with --docs on.
			require.Equal(t, http.StatusOK, statusOf(t, "http://"+line.AdminAddr+"/docs"))
			for _, path := range []string{"/docs", "/docs/openapi.json", "/docs/llms.txt", "/docs/operations/getOrder.md"} {
				if asked {
					require.Equal(t, http.StatusOK, statusOf(t, "http://"+line.Addr+path))
					continue
				}
				status, body = get(t, "http://"+line.Addr+path, "")
				require.Equal(t, http.StatusNotFound, status, path)
				require.Equal(t, "not_found", body["code"], path)
			}

			if runtime.GOOS == "windows" { // Windows has no signal to end a process in good order
				require.NoError(t, server.Process.Kill())
				return
			}
			require.NoError(t, server.Process.Signal(syscall.SIGTERM))
			for lines.Scan() {
				all.WriteString(lines.Text() + "\n")
			}
			require.NoError(t, server.Wait(), "the exit status is 0")
			require.Contains(t, all.String(), `"msg":"stopped"`)
			require.NotContains(t, all.String(), key.Key, "no key is logged")
			require.Contains(t, all.String(), key.ID, "the key's id is")
			d, err := hook.Open(t.Context(), db.Config{URL: url})
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Close()) }()
			var refused []string
			for row := range db.Rows(t.Context(), d.Reader(), "SELECT status || ' ' || code FROM refused_requests") {
				var one string
				require.NoError(t, row.Scan(&one))
				refused = append(refused, one)
			}
			if asked {
				require.Empty(t, refused, "the log is off")
				return
			}
			require.ElementsMatch(t, []string{"422 feature_disabled", "404 product_not_found", "401 api_key_revoked"}, refused,
				"written at the end at the latest")
		})
	}
}

func TestDevShowsServerAndWorkerTogether(t *testing.T) {
	t.Parallel()
	dev := startCommand(t, "Ctrl-C", "dev", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--data", t.TempDir())
	address := regexp.MustCompile(`operator +(http://\S+)`).FindStringSubmatch(dev.said)[1]
	metrics := page(t, address+"/metrics")
	require.Contains(t, metrics, "\nstorefront_attempts_limit 256\n")
	require.Contains(t, metrics, "\nstorefront_rate_limit_hits_total{limit=\"key\"} 0\n")
	require.Contains(t, metrics, "\nstorefront_delivery_lag_seconds ")
	require.Equal(t, http.StatusNotFound, status(t, address+"/debug/pprof/heap", ""), "there is no token to ask for")
	require.Equal(t, 0, dev.stop())
}

// net/http logs the panic and closes the connection.
func TestAWorkersListenerOutlivesAPanic(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	c := monitor.Config{
		Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.NewJSONHandler(&logged, nil)),
		Ready: func(context.Context) error { panic("the check broke") },
	}
	require.NoError(t, monitored{AdminAddr: "127.0.0.1:0"}.serveBeside(t.Context(), c, func(ctx context.Context) error {
		address := "http://" + regexp.MustCompile(`"admin_addr":"([^"]+)"`).FindStringSubmatch(logged.String())[1]
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
		require.NoError(t, err)
		_, err = http.DefaultClient.Do(request) //nolint:bodyclose // The connection ends without a response.
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
	require.ErrorContains(t, monitored{AdminAddr: "127.0.0.1:0", AdminToken: "short"}.check(), "--admin-token: must have at least")
	err = monitored{AdminAddr: taken.Addr().String()}.serveBeside(t.Context(), c, func(context.Context) error { t.Error("it works"); return nil })
	require.ErrorContains(t, err, "listen on "+taken.Addr().String()+":")
	away := errors.New("away")
	require.Equal(t, away, monitored{}.serveBeside(t.Context(), c, func(context.Context) error { return away }), "off")
}
