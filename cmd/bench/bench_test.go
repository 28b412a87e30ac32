package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be started under a hidden command, as the program starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"subject", "post", "checkout", "work"}, os.Args[1]) {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// small is a run of a second or two.
var small = []string{
	"--stores=3", "--products=9", "--orders=90", "--customers=90", "--keys=300",
	"--connections=2", "--rounds=1", "--seconds=0.05", "--output=json",
}

func TestAPIMeasuresEveryOperationOnBothSides(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"api", "--profile=" + t.TempDir()}, small...)
			if database == "postgres" {
				server := os.Getenv("STOREFRONT_TEST_POSTGRES")
				if server == "" {
					require.NotEqual(t, "1", os.Getenv("STOREFRONT_TEST_REQUIRE"), "STOREFRONT_TEST_POSTGRES must name a PostgreSQL server")
					t.Skip("STOREFRONT_TEST_POSTGRES names no PostgreSQL server")
				}
				args = append(args, "--database-url="+server)
			}
			var out, progress bytes.Buffer
			require.Zero(t, run(t.Context(), args, strings.NewReader(""), &out, &progress), progress.String())

			var r report
			require.NoError(t, json.Unmarshal(out.Bytes(), &r))
			require.Len(t, r.Operations, len(operations))
			for i, m := range r.Operations {
				require.Equal(t, operations[i].name, m.Operation)
				require.Positive(t, m.Ratio.Median)
				require.Positive(t, m.Service.P50Millis)
				require.Positive(t, m.Yardstick.RequestsPerSecond)
				for _, kind := range []string{kindService, kindYardstick} {
					profile := filepath.Join(strings.TrimPrefix(args[1], "--profile="), m.Operation+"."+kind+".pprof")
					info, err := os.Stat(profile)
					require.NoError(t, err)
					require.Positive(t, info.Size())
				}
			}
		})
	}
}

func TestListsAreMeasuredInStoresOfEverySize(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"", os.Getenv("STOREFRONT_TEST_POSTGRES")} {
		args := []string{"lists", "--sizes=100,3000", "--pages=1,400", "--rounds=1", "--seconds=0.05", "--keys=200", "-o", "json", "--database-url=" + database}
		var out, progress bytes.Buffer
		require.Zero(t, run(t.Context(), args, strings.NewReader(""), &out, &progress), progress.String())
		var lists []measuredList
		require.NoError(t, json.Unmarshal(out.Bytes(), &lists))
		require.Len(t, lists, 8)
		for _, l := range lists {
			require.Len(t, l.Sizes, 2)
			require.Positive(t, l.Sizes[1].P50Millis)
		}
	}
}

func TestAnExhaustedKeyFailsTheRun(t *testing.T) {
	t.Parallel()
	// Three keys may make 360 requests in a minute: enough to compare the answers, and used up by
	// the first operation's rounds, in the next minute if this one has just turned.
	args := append([]string{"api"}, small...)
	args = append(args, "--keys=1", "--rounds=1000", "--seconds=0.2")
	var out, progress bytes.Buffer
	require.Equal(t, exitFailed, run(t.Context(), args, strings.NewReader(""), &out, &progress))
	require.Contains(t, progress.String(), "answered 429")
	require.Contains(t, progress.String(), "rate_limited")
	require.Empty(t, out.String(), "a failed run reports nothing")
}

func TestCommandLinesAreRefusedInOneLine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ why, args, says string }{
		{"an unknown command", "webhoks", "unexpected argument webhoks"},
		{"no rounds give no figures", "api --rounds=0", "--rounds"},
		{"a round too short to answer anything", "api --seconds=0", "--seconds"},
		{"stores without orders cannot be asked for one", "api --stores=10 --orders=5", "every store"},
		{"SQLite is the default, not a URL", "api --database-url=sqlite:x", "--database-url"},
		{"a store that is too small for its pages", "lists --sizes=5", "--sizes"},
		{"a misspelt operation", "api --operation=get-orders", `"get-orders"`},
		{"an unknown form of output", "api -o xml", "--output"},
		{"no rounds break nothing", "chaos --rounds=0", "--rounds"},
		{"a misspelt scene", "chaos --scene=disk-ful", `"disk-ful"`},
		{"nobody floods nothing", "chaos --scene=patient-flood --flood=0", "--flood"},
		{"no worker delivers nothing", "webhooks --workers=0", "--workers"},
		{"a misspelt measure", "webhooks --measure=drian", `"drian"`},
		{"SQLite has no days to sweep", "webhooks --journal=1000", "--journal"},
		{"a pace of nothing never ends", "webhooks --rate=0", "--rate"},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			var out, stderr bytes.Buffer
			require.Equal(t, exitUsage, run(t.Context(), strings.Fields(row.args), strings.NewReader(""), &out, &stderr))
			require.Contains(t, stderr.String(), row.says)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"))
			require.Empty(t, out.String())
		})
	}
}

func TestTheSameShapeGivesTheSameData(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	s := shape{stores: 3, keys: 2, products: 10, orders: 50, customers: 30}
	a, b := newDataset(s, now), newDataset(s, now)
	counts := map[string]int{}
	for i, table := range a.tables {
		counts[table.name] = len(table.rows)
		if table.name == "api_keys" {
			continue // keys come from the system's randomness
		}
		require.Equal(t, table.rows, b.tables[i].rows, table.name)
	}
	require.Equal(t, map[string]int{
		"stores": 3, "api_keys": 6, "products": 10, "customers": 30, "payment_links": 15, "orders": 50, "order_items": counts["order_items"],
	}, counts)
	require.Len(t, a.stores[0].orders, 16)
	require.Greater(t, counts["order_items"], 50)
}

func TestFiguresAreMediansAndPercentiles(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2.0, median([]float64{9, 1, 2}), 0)
	require.InDelta(t, 1.5, median([]float64{2, 9, 1, 0}), 0, "the mean of the two in the middle")
	sorted := make([]time.Duration, 100)
	for i := range sorted {
		sorted[i] = time.Duration(i + 1)
	}
	require.EqualValues(t, 50, percentile(sorted, 50))
	require.EqualValues(t, 99, percentile(sorted, 99))
	require.Zero(t, percentile(nil, 50), "no request was made")

	made := func(n int, cpu time.Duration) round {
		return round{took: time.Second, latencies: make([]time.Duration, n), serverCPU: cpu, measuredCPU: true}
	}
	r := &report{inProcess: true}
	r.add(operations[0], [2][]round{
		{made(100, 10*time.Millisecond), made(300, 10*time.Millisecond), made(400, 20*time.Millisecond)},
		{made(200, 0), made(300, 0), made(200, 0)},
	})
	m := r.Operations[0]
	require.Equal(t, ratio{Median: 1, Min: 0.5, Max: 2}, m.Ratio, "each round against the one beside it")
	require.InDelta(t, 300, m.Service.RequestsPerSecond, 0)
	require.InDelta(t, 50, *m.Service.ServerCPUMicros, 1e-9, "40 ms over 800 requests")
	require.Nil(t, m.Service.DatabaseCPUMicros, "the database works in the server")

	var b strings.Builder
	require.NoError(t, r.write(&b, "markdown"))
	require.Contains(t, b.String(), "| get order | 300 / 200 | 0.00 / 0.00 | 0.00 / 0.00 | 50 / 0 | in the server | 1.00 (0.50–2.00) |")
}
