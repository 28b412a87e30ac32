package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
)

// serviceProgram is the storefront program, built once for all tests.
var serviceProgram = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "storefront-bench-test-")
	if err != nil {
		return "", err
	}
	return buildService(context.Background(), folder)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := serviceProgram(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path)) // the path is in the system's temporary folder
	}
	os.Exit(code)
}

// bench returns the command's exit code, and in out its result or the error messages.
func bench(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	binary, err := serviceProgram()
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append(args, "--binary="+binary), &stdout, &stderr)
	if code != 0 {
		require.Empty(t, stdout.String(), "a failed run reports nothing")
		return code, stderr.String()
	}
	return code, stdout.String()
}

// postgres skips the test without a URL, or fails it if servers are required.
func postgres(t *testing.T) string {
	t.Helper()
	server := os.Getenv("STOREFRONT_TEST_POSTGRES")
	if server == "" {
		need.Missing(t, "STOREFRONT_TEST_POSTGRES names no PostgreSQL server")
	}
	return server
}

// onEach runs a test on SQLite and on PostgreSQL. database is the flag that chooses it.
func onEach(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "--database-url=")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, "--database-url="+postgres(t))
	})
}

// small is a data set with which a run takes a second or two.
var small = []string{"--stores=3", "--products=9", "--orders=90", "--customers=90", "--keys=300", "--connections=2"}

func TestAPIMeasuresEveryOperationOnBothBuilds(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		binary, err := serviceProgram()
		require.NoError(t, err)
		code, out := bench(t, append(small, "api", "--rounds=1", "--seconds=0.05", "--against="+binary, database)...)
		require.Zero(t, code, out)
		number := `[1-9][\d.]*`
		for _, o := range operations {
			require.Regexp(t, `\| `+o.name+` \| `+number+` · `+number+` \| [\d.]+ · [\d.]+ \|.*\([\d.]+–[\d.]+\) \|\n`, out)
		}
	})
}

func TestAPIIsMeasuredOnPostgreSQLAndCitusInTurns(t *testing.T) {
	t.Parallel()
	nodes := os.Getenv("STOREFRONT_TEST_CITUS")
	if nodes == "" {
		t.Skip("STOREFRONT_TEST_CITUS names no nodes")
	}
	code, out := bench(t, append(small, "api", "--rounds=1", "--seconds=0.05", "--database-url="+postgres(t), "--citus="+nodes)...)
	require.Zero(t, code, out)
	require.Regexp(t, ` on PostgreSQL \S+, fsync \w+ · .*, Citus with [1-9] workers?`, out)
	require.Regexp(t, `\| record-and-pay-order \| [1-9]\d* · [1-9]\d* \|`, out)
}

func TestListsAreMeasuredInStoresOfEverySize(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		code, out := bench(t, "lists", "--sizes=100,3000", "--pages=1,400", "--rounds=1", "--seconds=0.05", "--keys=200", database)
		require.Zero(t, code, out)
		require.Len(t, regexp.MustCompile(`\n\| [a-z, ]+ \| (1|400) \| [\d.]+ · [\d.]+ \|`).FindAllString(out, -1), 8)
	})
}

func TestAnExhaustedKeyFailsTheRun(t *testing.T) {
	t.Parallel()
	// Three keys may make 360 requests a minute. The first operation exceeds that even if a new minute begins.
	code, out := bench(t, append([]string{"api"}, append(small, "--keys=1", "--rounds=1000", "--seconds=0.2")...)...)
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "answered 429 rate_limited")
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
		{"a cluster has nothing to be compared with", "api --citus=postgres://a", "--citus"},
		{"a misspelt operation", "api --operation=get-orders", `"get-orders"`},
		{"no rounds break nothing", "chaos --rounds=0", "--rounds"},
		{"a history of nothing", "history --span=0s", "--span"},
		{"a misspelt scene", "chaos --scene=disk-ful", `"disk-ful"`},
		{"a wait of less than nothing", "chaos --scene=large-disable --waiting=-1", "--waiting"},
		{"no worker delivers nothing", "webhooks --workers=0", "--workers"},
		{"a misspelt measure", "webhooks --measure=drian", `"drian"`},
		{"a pace of nothing never ends", "webhooks --rate=0", "--rate"},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			var out, stderr bytes.Buffer
			require.Equal(t, exitUsage, run(t.Context(), strings.Fields(row.args), &out, &stderr))
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
			continue // keys are random and differ
		}
		require.Equal(t, table.rows, b.tables[i].rows, table.name)
	}
	require.Equal(t, map[string]int{
		"stores": 3, "api_keys": 6, "products": 10, "customers": 30, "orders": 50, "order_items": counts["order_items"],
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

	done := func(n int, cpu time.Duration) round {
		return round{took: time.Second, latencies: make([]time.Duration, n), server: cpu, measuredCPU: true}
	}
	f := summarize([]round{done(100, 10*time.Millisecond), done(300, 10*time.Millisecond), done(400, 20*time.Millisecond)})
	require.InDelta(t, 300, f.rate, 0, "the median of the rounds")
	require.Equal(t, 50*time.Microsecond, f.server, "40 ms over 800 requests")
	require.False(t, summarize([]round{done(1, 0), {took: time.Second}}).measuredCPU)
}
