package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

// Caddyfile works as it is, except for addresses and the authority of its certificates.
func TestCaddyInFront(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs a server behind Caddy")
	caddy, err := exec.LookPath("caddy")
	if err != nil {
		need.Missing(t, "there is no Caddy here: %v", err)
	}
	i := installation{t, map[string]string{
		"STOREFRONT_DATABASE_URL": dbtest.URL(t, dbtest.SQLite), "STOREFRONT_TRUSTED_PROXIES": "127.0.0.1", "STOREFRONT_DOCS": "on",
		"STOREFRONT_ADMIN_TOKEN": remoteToken,
	}}
	i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "NGN", "--country", "NG")
	var key struct{ Key string }
	i.run(&key, "key", "create", "--store", "s", "--name", "k", "--scopes", "products:read", "--expires", "30d")
	s := i.server("storefront")
	defer s.stop()
	var link struct{ URL string }
	i.run(&link, "dashboard", "link", "--store", "s", "--member", "Awa", "--role", "owner", "--url", "https://dashboard.example.com")

	folder, addr := t.TempDir(), devtest.FreeAddress(t)
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	text, err := os.ReadFile("Caddyfile")
	require.NoError(t, err)
	options := "{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\tauto_https disable_redirects\n\thttps_port " + port +
		"\n\tstorage file_system " + folder + "\n}\n"
	config := options + strings.NewReplacer("127.0.0.1:8080", s.Addr, "127.0.0.1:8081", s.AdminAddr).Replace(string(text))
	path := filepath.Join(folder, "Caddyfile")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	run := exec.Command(caddy, "run", "--config", path, "--adapter", "caddyfile")
	run.Env = append(os.Environ(), "XDG_CONFIG_HOME="+folder, "XDG_DATA_HOME="+folder)
	var log strings.Builder
	run.Stderr = &log
	require.NoError(t, run.Start())
	t.Cleanup(func() {
		_ = run.Process.Signal(os.Interrupt)
		_ = run.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})

	caller := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, //nolint:gosec // Caddy's own authority
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	}}
	get := func(url string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+key.Key)
		answer, err := caller.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	require.Eventually(t, func() bool {
		status, _ := get("https://" + apiHost + "/v1/products")
		return status == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	requireEveryProtocol(t, caller, "https://"+apiHost, key.Key)
	status, page := get(link.URL)
	require.Equal(t, http.StatusOK, status, page)
	require.Contains(t, page, "Sign in to S")
	for _, path := range []string{"/", "/metrics", "/readyz", "/storefront.admin.v1.StoreService/ListStores"} {
		status, page := get("https://dashboard.example.com" + path)
		require.Equal(t, http.StatusNotFound, status, "%s: %s", path, page)
	}
}
