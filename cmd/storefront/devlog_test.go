package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDevLogsWhatAPersonDidOrGotAndRefusals(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"info", "debug"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			dev := startCommand(t, "}", devArgs(t.TempDir(), "-o", "json", "--log-level", level)...)
			var said struct{ Key, URL, AdminURL, Dashboard string }
			require.NoError(t, json.Unmarshal([]byte(dev.said), &said))
			status, _ := get(t, said.URL+"/v1/store", "Bearer "+said.Key)
			require.Equal(t, http.StatusOK, status)
			status, _ = get(t, said.URL+"/v1/orders?page=0", "Bearer "+said.Key)
			require.Equal(t, http.StatusBadRequest, status)
			require.Equal(t, http.StatusOK, statusOf(t, said.Dashboard))
			require.Equal(t, http.StatusUnauthorized, statusOf(t, said.AdminURL+"/dashboard/keys"))
			storefront(t, "trigger", "order.paid", "--store", demoSlug, "--yes", "--admin-url", said.AdminURL)
			require.Error(t, exec.Command("storefront", "product", "show", "nobody", "--store", demoSlug, "--admin-url", said.AdminURL).Run())
			require.Equal(t, 0, dev.stop())
			var info []string
			for line := range strings.Lines(dev.logs.String()) {
				if strings.Contains(line, "level=INFO") {
					info = append(info, line)
				}
			}
			require.Len(t, info, 4, "%s", dev.logs)
			for i, part := range []string{"route=/v1/store status=200", "code=validation_failed", "status=401", "ResolveName"} {
				require.Contains(t, info[i], part)
			}
			require.Equal(t, level == "debug", strings.Contains(dev.logs.String(), "OrderService/PayOrder"))
		})
	}
}

func TestDevLowersOnlyLinesOfTheLevelInfo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := slog.New(devLog{slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})})
	logger.With("a", 1).WithGroup("g").Info("swept", "rows", 5)
	logger.Debug("attempt")
	logger.Info("attempt", "error", "status 500")
	logger.Info("dashboard request", "method", "GET", "status", 200)
	logger.Info("dashboard request", "method", "POST", "status", 303)
	logger.Info("dashboard request", "method", "GET", "status", 403)
	logger.With("a", 1).Warn("swept")
	logger.WithGroup("g").Error("swept")
	require.Equal(t, `level=INFO msg=attempt error="status 500"
level=INFO msg="dashboard request" method=POST status=303
level=INFO msg="dashboard request" method=GET status=403
level=WARN msg=swept a=1
level=ERROR msg=swept
`, out.String())
}
