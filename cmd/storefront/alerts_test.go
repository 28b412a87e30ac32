package main_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
	"go.storefront.example/server"
	"go.storefront.example/server/monitor"
	"go.storefront.example/worker"
)

var (
	described = regexp.MustCompile(`fqName: "([^"]+)".*constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)
	constant  = regexp.MustCompile(`(\w+)=`)
	selected  = regexp.MustCompile(`\b((?:storefront|go|process)_\w+)(?:\{([^}]*)\})?`)
	matched   = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	grouped   = regexp.MustCompile(`\bby \(([^)]*)\)`)
	quoted    = regexp.MustCompile(`"[^"]*"`)
)

// metricsOf returns the metrics of a server and a worker, each with the names of its labels.
func metricsOf(t *testing.T) map[string][]string {
	t.Helper()
	handle := dbtest.New(t, dbtest.SQLite, db.Config{})
	log := slog.New(slog.DiscardHandler)
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	registry := monitor.NewRegistry(handle, log)
	running, err := server.New(server.Config{Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", DB: handle, Metrics: registry,
		Logger: log})
	require.NoError(t, err)
	_, err = worker.New(t.Context(), worker.Config{DB: handle, Secrets: seal.NewKeyring(key), Metrics: registry, Logger: log})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, running.Run(ctx))

	all := make(chan *prometheus.Desc, 1000)
	registry.Describe(all)
	close(all)
	metrics := map[string][]string{}
	for d := range all {
		parts := described.FindStringSubmatch(d.String())
		require.NotNil(t, parts, d.String())
		labels := strings.Split(parts[3], ",")
		for _, c := range constant.FindAllStringSubmatch(parts[2], -1) {
			labels = append(labels, c[1])
		}
		metrics[parts[1]] = labels
	}
	return metrics
}

func check(t *testing.T, metrics map[string][]string, query string) []string {
	t.Helper()
	var asked, labels []string
	for _, s := range selected.FindAllStringSubmatch(query, -1) {
		name := s[1]
		if _, whole := metrics[name]; !whole {
			name = regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		}
		known, exists := metrics[name]
		require.True(t, exists, "%s in %s", s[1], query)
		asked, labels = append(asked, name), append(append(labels, known...), "le", "instance", "installation")
		for _, label := range matched.FindAllStringSubmatch(s[2], -1) {
			require.Contains(t, known, label[1], query)
		}
	}
	require.NotEmpty(t, asked, query)
	for _, by := range grouped.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(by[1], ",") {
			require.Contains(t, labels, strings.TrimSpace(label), query)
		}
	}
	bare := quoted.ReplaceAllString(query, "")
	for _, pair := range []string{"()", "[]", "{}"} {
		require.Equal(t, strings.Count(bare, pair[:1]), strings.Count(bare, pair[1:]), query)
	}
	return asked
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "server", "monitor", file))
	require.NoError(t, err)
	return text
}

func requireSection(t *testing.T, address string) {
	t.Helper()
	page, section, found := strings.Cut(strings.TrimPrefix(address, "https://go.storefront.example/cmd/storefront/"), "#")
	require.True(t, found, address)
	text, err := os.ReadFile(page)
	require.NoError(t, err, address)
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		if strings.ReplaceAll(anchor, " ", "-") == section {
			return
		}
	}
	t.Fatalf("%s has no section %s", page, section)
}

func TestDashboardAndAlertsAskForMetricsThatExist(t *testing.T) {
	t.Parallel()
	metrics := metricsOf(t)
	var dashboard struct {
		Title  string
		Panels []struct {
			ID          int
			Type, Title string
			Description string
			Targets     []struct{ Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal(read(t, "grafana.json"), &dashboard))
	shown, ids := map[string]bool{}, map[int]bool{}
	for _, p := range dashboard.Panels {
		require.False(t, ids[p.ID], "%s has the id of another panel", p.Title)
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		require.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			for _, name := range check(t, metrics, target.Expr) {
				shown[name] = true
			}
		}
	}
	for name := range maps.Keys(metrics) {
		require.True(t, shown[name] || !strings.HasPrefix(name, "storefront_"), "no panel shows %s", name)
	}

	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For string
				Labels           struct{ Severity string }
				Annotations      struct {
					Summary, Description string
					RunbookURL           string `yaml:"runbook_url"`
				}
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(read(t, "alerts.yaml"))))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&rules))
	watched := map[string]bool{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			require.Contains(t, []string{"warning", "critical"}, r.Labels.Severity, r.Alert)
			require.NotEmpty(t, r.Annotations.Summary, r.Alert)
			require.NotEmpty(t, r.Annotations.Description, "%s has instructions", r.Alert)
			requireSection(t, r.Annotations.RunbookURL)
			if strings.Contains(r.Expr, "\n") && strings.Contains(r.Expr, "/") {
				require.Contains(t, r.Expr, " and ", "%s has a floor of traffic", r.Alert)
			}
			if !strings.HasPrefix(r.Expr, "absent(") && !strings.HasPrefix(r.Expr, "abs(") {
				require.Contains(t, r.Expr, "by (installation", r.Alert)
			}
			for _, name := range check(t, metrics, r.Expr) {
				watched[name] = true
			}
		}
	}
	require.Subset(t, slices.Collect(maps.Keys(watched)), []string{
		"storefront_delivery_lag_seconds", "storefront_deliveries_total", "storefront_request_duration_seconds",
		"storefront_attempts_limit",
	}, "lag, failures, 5xx, and no worker")
}
