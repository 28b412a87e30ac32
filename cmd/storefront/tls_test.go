package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

func writePair(t *testing.T, folder string, serial int64, life time.Duration, names ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: names,
		NotBefore: time.Now().Add(24*time.Hour - life), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600))
	}
}

// Nothing else is served at their names, and a new certificate is read.
func TestAServerTerminatesTLS(t *testing.T) {
	t.Parallel()
	const api, dashboard = "api.shop.example", "dashboard.shop.example"
	folder := t.TempDir()
	writePair(t, folder, 1, 30*time.Hour, api, dashboard)
	i := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": dbtest.URL(t, dbtest.SQLite),
		"STOREFRONT_ADMIN_TOKEN": "a-token-of-the-operator-for-tls-tests"}}
	s := i.start("storefront", "listening", "server", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--plain-addr", "127.0.0.1:0",
		"--tls-cert", filepath.Join(folder, "cert.pem"), "--tls-key", filepath.Join(folder, "key.pem"), "--tls-domain", api,
		"--dashboard-domain", dashboard)
	i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
	var key struct{ Key string }
	i.run(&key, "key", "create", "--store", "s", "--name", "k", "--scopes", "products:read", "--expires", "1y")
	var link struct{ URL string }
	i.run(&link, "dashboard", "link", "--store", "s", "--member", "Awa", "--role", "owner", "--url", "https://"+dashboard)

	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			to := s.Addr
			if strings.HasSuffix(address, ":80") {
				var line struct {
					PlainAddr string `json:"plain_addr"`
				}
				require.NoError(t, json.NewDecoder(strings.NewReader(s.log())).Decode(&line))
				to = line.PlainAddr
			}
			return (&net.Dialer{}).DialContext(ctx, network, to)
		}}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(url string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+key.Key)
		answer, err := client.Do(r)
		require.NoError(t, err, url)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer, string(body)
	}
	answer, body := get("https://" + api + "/v1/products")
	require.Equal(t, http.StatusOK, answer.StatusCode, body)
	require.Equal(t, "HTTP/2.0", answer.Proto)
	require.NotEmpty(t, answer.Header.Get("Strict-Transport-Security"))
	answer, body = get(link.URL)
	require.Equal(t, http.StatusOK, answer.StatusCode, body)
	require.Contains(t, body, "Sign in to S")
	for url, status := range map[string]int{
		"https://" + api + "/dashboard": http.StatusNotFound, "https://" + api + "/docs": http.StatusNotFound,
		"https://" + dashboard + "/v1/products": http.StatusNotFound, "https://" + dashboard + "/metrics": http.StatusNotFound,
		"https://" + dashboard + "/readyz": http.StatusNotFound, "https://" + dashboard + "/docs": http.StatusNotFound,
		"https://" + dashboard + "/storefront.admin.v1.StoreService/ListStores": http.StatusNotFound,
		"https://" + dashboard + "/":                    http.StatusSeeOther,
		"http://" + api + "/v1/products":                http.StatusMovedPermanently,
		"http://" + dashboard + "/dashboard/settings?a": http.StatusMovedPermanently,
	} {
		answer, _ := get(url)
		require.Equal(t, status, answer.StatusCode, url)
	}
	_, err := tls.Dial("tcp", s.Addr, &tls.Config{ServerName: "other.shop.example", InsecureSkipVerify: true})
	require.Error(t, err, "no certificate for another name")
	require.Contains(t, page(t, "http://"+s.AdminAddr+"/metrics"), `storefront_certificate_expires_timestamp_seconds{name="`+api+`"} 1.`)

	serial := func() int64 {
		conn, err := tls.Dial("tcp", s.Addr, &tls.Config{ServerName: api, InsecureSkipVerify: true})
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	require.EqualValues(t, 1, serial())
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cert.pem"), bytes.Repeat([]byte("x"), 9), 0o600))
	require.EqualValues(t, 1, serial(), "the pair before is used while the files are replaced")
	writePair(t, folder, 2, 30*time.Hour, api, dashboard)
	require.EqualValues(t, 2, serial())
	s.stop()
}

// A third of a certificate's life is left when it is renewed, so one with less than a quarter was forgotten.
func TestACertificateThatIsNotRenewedCausesANotice(t *testing.T) {
	t.Parallel()
	folder, in := t.TempDir(), newInbox(t)
	writePair(t, folder, 1, 90*24*time.Hour, "api.shop.example")
	secret := "whsec_" + strings.Repeat("0a", 32)
	in.verifyWith(secret)
	i := newInstallation(t, dbtest.URL(t, dbtest.SQLite), in).with("STOREFRONT_NOTICES_URL", in.url).with("STOREFRONT_NOTICES_SECRET", secret)
	one := i.oneProcess("--plain-addr", "127.0.0.1:0", "--tls-cert", filepath.Join(folder, "cert.pem"), "--tls-key", filepath.Join(folder, "key.pem"))
	n := in.next()
	one.stop()
	require.Equal(t, "certificate.failing", n.Type)
	require.Contains(t, string(n.Data), `"endsAt":"20`)
	require.Contains(t, string(n.Data), "was not renewed")
}

func TestFlagsOfTLSThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		flags certificates
		url   string
		err   string
	}{
		{certificates{}, "postgres://u@h/d", ""},
		{certificates{TLSDomains: []string{"api.example.com"}, DashboardDomain: "dashboard.example.com"}, "sqlite:a.db", ""},
		{certificates{TLSCert: "c", TLSKey: "k"}, "postgres://u@h/d", ""},
		{certificates{TLSDomains: []string{"api.example.com"}, TLSFolder: "/certs"}, "postgres://u@h/d", ""},
		{certificates{TLSDomains: []string{"api.example.com"}}, "postgres://u@h/d", "--tls-folder"},
		{certificates{TLSCert: "c"}, "sqlite:a.db", "set both"},
		{certificates{DashboardDomain: "dashboard.example.com"}, "sqlite:a.db", "--tls-domain: set it"},
		{certificates{TLSDomains: []string{"https://api.example.com"}}, "sqlite:a.db", "must be names"},
		{certificates{TLSDomains: []string{"API.example.com"}}, "sqlite:a.db", "must be names"},
		{certificates{TLSDomains: []string{"api.example.com"}, DashboardDomain: "api.example.com"}, "sqlite:a.db", "another name"},
	} {
		if err := row.flags.check(row.url, "token"); row.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, row.err)
		}
	}
	require.ErrorContains(t, certificates{TLSDomains: []string{"api.example.com"}, DashboardDomain: "d.example.com"}.check("sqlite:a.db", ""),
		"--admin-token")
}
