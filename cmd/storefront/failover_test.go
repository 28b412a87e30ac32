package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/cluster"
	"go.storefront.example/ent/hook"
)

// pair is a PostgreSQL primary whose commits wait until its synchronous standby has them.
type pair struct {
	t                *testing.T
	primary, standby *cluster.Cluster
}

func newPair(t *testing.T) pair {
	t.Helper()
	primary := dbtest.Cluster(t, cluster.Options{})
	d, err := hook.Open(t.Context(), db.Config{URL: primary.URL(), MaxConns: 2})
	require.NoError(t, err)
	require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
	standby := dbtest.Standby(t, primary)
	// With this setting a copied and promoted standby would wait for another server.
	for _, query := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		_, err = d.Writer().Exec(query)
		require.NoError(t, err)
	}
	require.NoError(t, d.Close())
	p := pair{t, primary, standby}
	p.awaitSync()
	return p
}

func (p pair) url() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable&target_session_attrs=read-write",
		p.primary.Port(), p.standby.Port())
}

func (p pair) awaitSync() {
	p.t.Helper()
	d, err := hook.Open(p.t.Context(), db.Config{URL: p.primary.URL(), MaxConns: 2})
	require.NoError(p.t, err)
	defer func() { require.NoError(p.t, d.Close()) }()
	require.Eventually(p.t, func() bool {
		var n int
		err := d.Reader().QueryRow("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&n)
		return err == nil && n == 1
	}, time.Minute, 10*time.Millisecond)
}

func (i installation) keys(count int) []string {
	i.t.Helper()
	var keys []string
	for n := range count {
		slug := fmt.Sprintf("s%d", n/10)
		if n%10 == 0 {
			i.run(nil, "store", "create", "--name", "S", "--slug", slug, "--currency", "XAF", "--country", "CM")
		}
		var key struct{ Key string }
		i.run(&key, "key", "create", "--store", slug, "--name", fmt.Sprint(n), "--scopes", "customers:write", "--expires", "30d")
		keys = append(keys, key.Key)
	}
	return keys
}

type writer struct {
	acknowledged []string
	last         atomic.Int64 // in Unix microseconds
	refused      int
	wrong        []string
}

func (w *writer) write(ctx context.Context, url, key, name string, pause time.Duration) {
	every := time.NewTicker(pause)
	defer every.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(fmt.Appendf(nil, `{"name":"N","email":"%s-%d@example.com"}`,
			name, n)))
		if err != nil {
			w.wrong = append(w.wrong, err.Error())
			return
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			w.wrong = append(w.wrong, err.Error())
			continue
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		var said struct{ ID, Code, RequestID string }
		switch decoded := json.Unmarshal(body, &said); {
		case err == nil && decoded == nil && answer.StatusCode == http.StatusCreated:
			w.acknowledged = append(w.acknowledged, said.ID)
			w.last.Store(time.Now().UnixMicro())
		case err == nil && decoded == nil && answer.StatusCode == http.StatusServiceUnavailable && said.Code == "unavailable" &&
			said.RequestID != "":
			w.refused++
		case err == nil && decoded == nil && answer.StatusCode == http.StatusTooManyRequests && said.Code == "rate_limited" &&
			said.RequestID != "":
			// Not wrong: a key may make 120 requests a minute, and this loop may make more.
		default:
			w.wrong = append(w.wrong, fmt.Sprintf("%s %s %v", answer.Status, body, err))
		}
	}
}

func TestAPromotedStandbyIsFollowedAndLosesNothing(t *testing.T) {
	t.Parallel()
	const (
		writers = 12
		pause   = 100 * time.Millisecond
	)
	p := newPair(t)
	i := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": p.url()}}
	keys := i.keys(writers)
	server := i.server("storefront")
	ready := func(status int) {
		require.Eventually(t, func() bool { return statusOf(t, "http://"+server.AdminAddr+"/readyz") == status }, time.Minute,
			20*time.Millisecond, "%d", status)
	}
	ready(http.StatusOK)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	all := make([]writer, writers)
	var working sync.WaitGroup
	for n := range all {
		working.Go(func() {
			all[n].write(ctx, "http://"+server.Addr+"/v1/customers", keys[n], fmt.Sprint("w", n), pause)
		})
	}
	for n := range all {
		require.Eventually(t, func() bool { return all[n].last.Load() > 0 }, 2*time.Minute, 20*time.Millisecond, "every writer works")
	}
	require.NoError(t, p.primary.Crash(t.Context()))
	ready(http.StatusServiceUnavailable)
	require.NoError(t, p.standby.Promote(t.Context()))
	promoted := time.Now().UnixMicro()
	ready(http.StatusOK)
	for n := range all {
		require.Eventually(t, func() bool { return all[n].last.Load() > promoted }, 2*time.Minute, 20*time.Millisecond,
			"writes succeed again")
	}
	stop()
	working.Wait()

	d, err := hook.Open(t.Context(), db.Config{URL: p.standby.URL(), MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	acknowledged, refused := 0, 0
	for n := range all {
		require.Empty(t, all[n].wrong, "every answer is 2xx, or 503 or 429 in our words")
		acknowledged, refused = acknowledged+len(all[n].acknowledged), refused+all[n].refused
		for _, id := range all[n].acknowledged {
			var found int
			require.NoError(t, d.Reader().QueryRow("SELECT count(*) FROM customers WHERE id = $1", id).Scan(&found))
			require.Equal(t, 1, found, "an acknowledged write is lost")
		}
	}
	t.Logf("%d writes acknowledged, %d refused with 503, none lost", acknowledged, refused)
	server.stop()
}

func TestAWriteThatTheStandbyDoesNotConfirmIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	i := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": p.url()}}
	i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
	server := i.server("storefront")
	d, err := hook.Open(t.Context(), db.Config{URL: p.url(), MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	const change = "UPDATE stores SET name = name"
	writes := map[string]func(ctx context.Context) error{
		"by itself": func(ctx context.Context) error { _, err := d.Writer().ExecContext(ctx, change); return err },
		"with rows": func(ctx context.Context) error {
			return d.Writer().QueryRowContext(ctx, change+" RETURNING 1").Scan(new(int))
		},
		"in a transaction": func(ctx context.Context) error {
			return hook.Run(ctx, d, func(c *hook.Change) error {
				_, err := c.Tx.ExecContext(c, change)
				return err
			})
		},
	}
	for name, write := range writes {
		require.NoError(t, write(t.Context()), name)
	}
	require.NoError(t, p.standby.Crash(t.Context()))
	for name, write := range writes {
		// The client gives up while its commit waits for the standby, and the server reports a commit that the standby lacks.
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := write(ctx)
		cancel()
		require.Error(t, err, name)
		require.Regexp(t, "not confirmed by the synchronous standby|context deadline exceeded", err.Error(), name)
	}
	admin := "http://" + server.AdminAddr + "/readyz"
	require.Eventually(t, func() bool { return statusOf(t, admin) == http.StatusServiceUnavailable }, time.Minute,
		50*time.Millisecond)
	require.NoError(t, p.standby.Restart(t.Context()))
	p.awaitSync()
	for name, write := range writes {
		require.NoError(t, write(t.Context()), name)
	}
	require.Eventually(t, func() bool { return statusOf(t, admin) == http.StatusOK }, time.Minute, 50*time.Millisecond)
	server.stop()
}
