package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/conformance/devtest"
)

func nginxProgram(t *testing.T) string {
	t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		need.Missing(t, "there is no nginx here: %v", err)
	}
	return nginx
}

type front struct {
	program []string
	addr    string
	folder  string
	caller  *http.Client
}

// newFront replaces paths and addresses in a copy of nginx.conf, and then pairs of an old and a new text.
func newFront(t *testing.T, nginx string, replacements ...string) front {
	t.Helper()
	folder := t.TempDir()
	f := front{
		[]string{nginx, "-e", "stderr", "-p", folder, "-c", filepath.Join(folder, "nginx.conf")}, devtest.FreeAddress(t), folder,
		&http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, //nolint:gosec // the test's own certificate
		}},
	}
	// Only its certificate is used, for nginx.
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	defer certified.Close()
	writeCertificate(t, certified.TLS.Certificates[0], f.folder)
	f.configure(t, replacements...)
	// The test's context would kill nginx's main process and leave its workers behind.
	c := exec.Command(f.program[0], append(f.program[1:], "-g", "daemon off;")...)
	c.Stderr = os.Stderr
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	})
	require.Eventually(t, func() bool {
		status, _ := f.request(t, http.MethodGet, apiHost, "/v1/store", "", "")
		return status == http.StatusUnauthorized
	}, time.Minute, 50*time.Millisecond)
	return f
}

func (f front) configure(t *testing.T, replacements ...string) {
	t.Helper()
	text, err := os.ReadFile("nginx.conf")
	require.NoError(t, err)
	config := strings.NewReplacer(append([]string{
		"listen 443", "listen " + f.addr, "/var/log/nginx/", f.folder + "/",
		"/etc/nginx/storefront.crt", filepath.Join(f.folder, "crt"), "/etc/nginx/storefront.key", filepath.Join(f.folder, "key"),
		"events {}", "events {}\npid " + f.folder + "/pid;\nuser " + owner() + ";",
		"http {", "http {\naccess_log off;\nclient_body_temp_path " + f.folder + "/body;\nproxy_temp_path " + f.folder +
			"/proxy;\nfastcgi_temp_path " + f.folder + "/fastcgi;\nuwsgi_temp_path " + f.folder + "/uwsgi;\nscgi_temp_path " +
			f.folder + "/scgi;",
	}, replacements...)...).Replace(string(text))
	require.NoError(t, os.WriteFile(filepath.Join(f.folder, "nginx.conf"), []byte(config), 0o600))
}

func (f front) reload(t *testing.T, replacements ...string) {
	t.Helper()
	f.configure(t, replacements...)
	for _, args := range [][]string{{"-t"}, {"-s", "reload"}} {
		out, err := exec.CommandContext(t.Context(), f.program[0], append(f.program[1:], args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

func (f front) request(t *testing.T, method, host, path, key, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://"+f.addr+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Host = host
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := f.caller.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// nginx.conf works as it is, except for addresses and paths.
func TestNginxInFront(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs servers behind nginx")
	nginx := nginxProgram(t)
	i := installation{t, map[string]string{
		"STOREFRONT_DATABASE_URL": dbtest.URL(t, dbtest.Postgres), "STOREFRONT_TRUSTED_PROXIES": "127.0.0.1", "STOREFRONT_DOCS": "on",
		"STOREFRONT_API_URL": "https://api.example.com", "STOREFRONT_DRAIN_DELAY": "200ms", "STOREFRONT_ADMIN_TOKEN": remoteToken,
	}}
	i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "EUR", "--country", "FR")
	var key struct{ Key string }
	i.run(&key, "key", "create", "--store", "s", "--name", "k", "--scopes", "products:read", "--expires", "30d")
	one, other := devtest.FreeAddress(t), devtest.FreeAddress(t)
	admin := map[string]string{one: devtest.FreeAddress(t), other: devtest.FreeAddress(t)}
	serve := func(addr string) *process {
		return i.start("storefront", "listening", "server", "--addr", addr, "--admin-addr", admin[addr])
	}
	servers := []*process{serve(one), serve(other)}
	var link struct{ URL string }
	i.run(&link, "dashboard", "link", "--store", "s", "--member", "Awa", "--role", "owner", "--url", "https://dashboard.example.com")

	front := newFront(t, nginx, "10.0.0.1:8080", one, "10.0.0.2:8080", other, "10.0.0.1:8081", admin[one], "10.0.0.2:8081", admin[other])
	host := apiHost
	get := func(path string) (int, string) { return front.request(t, http.MethodGet, host, path, key.Key, "") }
	status, page := get("/v1/products")
	require.Equal(t, http.StatusOK, status, page)

	requireEveryProtocol(t, front.caller, "https://"+front.addr, key.Key)

	for _, path := range []string{"/docs", "/docs/openapi.json", "/docs/llms.txt"} {
		status, page := get(path)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, page, "https://api.example.com", path)
		require.NotContains(t, page, front.addr, path)
	}

	// Under its own host name nginx serves the dashboard and no other path of the admin listener.
	host = "dashboard.example.com"
	sign, found := strings.CutPrefix(link.URL, "https://"+host)
	require.True(t, found)
	status, page = get(sign)
	require.Equal(t, http.StatusOK, status, page)
	require.Contains(t, page, "Sign in to S")
	for _, path := range []string{"/", "/metrics", "/readyz", "/storefront.admin.v1.StoreService/ListStores"} {
		status, _ := get(path)
		require.Equal(t, http.StatusNotFound, status, path)
	}
	logged, err := os.ReadFile(filepath.Join(front.folder, "dashboard.log"))
	require.NoError(t, err)
	require.Contains(t, string(logged), "/dashboard/sign-in")
	require.NotContains(t, string(logged), "token")
	host = apiHost

	// The two servers are restarted one after the other, and no request fails.
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n, addr := range []string{one, other} {
			servers[n].stop()
			servers[n] = serve(addr)
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(100 * time.Millisecond):
		}
		status, body := get("/docs")
		require.Equal(t, http.StatusOK, status, body)
	}
}

// requireEveryProtocol requires that a proxy passes on gRPC, gRPC-Web, Connect, and the streams of reflection.
func requireEveryProtocol(t *testing.T, caller *http.Client, base, key string) {
	t.Helper()
	for _, options := range [][]connect.ClientOption{{connect.WithGRPC()}, {connect.WithGRPCWeb()}, {connect.WithProtoJSON()}} {
		products := storefrontv1connect.NewProductServiceClient(caller, base, options...)
		ctx, call := connect.NewClientContext(t.Context())
		call.RequestHeader().Set("Authorization", "Bearer "+key)
		_, err := products.ListProducts(ctx, &storefrontv1.ListProductsRequest{})
		require.NoError(t, err)
	}
	stream := grpcreflect.NewClient(caller, base).NewStream(t.Context())
	names, err := stream.ListServices()
	require.NoError(t, err)
	require.Contains(t, names, protoreflect.FullName("grpc.health.v1.Health"))
	files, err := stream.FileContainingSymbol("grpc.health.v1.Health")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	_, err = stream.Close()
	require.NoError(t, err)
}

const apiHost = "api.example.com"

// owner is the user whom nginx must run as, because others cannot read the test's folder.
func owner() string {
	out, err := exec.Command("id", "-un").Output()
	if err != nil {
		return "root"
	}
	return strings.TrimSpace(string(out))
}

func writeCertificate(t *testing.T, c tls.Certificate, folder string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"crt": {Type: "CERTIFICATE", Bytes: c.Certificate[0]},
		"key": {Type: "PRIVATE KEY", Bytes: key}} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600))
	}
}
