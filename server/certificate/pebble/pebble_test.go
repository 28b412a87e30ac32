// Package pebble tests certificates by ACME against Pebble, Let's Encrypt's test server. It is a module of its own, so that the
// service's requires no Pebble.
package pebble

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/letsencrypt/challtestsrv"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/certificate"
)

func TestMain(m *testing.M) {
	// All servers of httptest have one certificate. Trust it, because Pebble's directory has it here.
	one := httptest.NewTLSServer(nil)
	folder, err := os.MkdirTemp("", "pebble-")
	if err != nil {
		panic(err)
	}
	file := filepath.Join(folder, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Certificate().Raw})
	one.Close()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		panic(err)
	}
	for name, value := range map[string]string{"SSL_CERT_FILE": file, "PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0"} {
		_ = os.Setenv(name, value)
	}
	status := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(status)
}

// authority is a Pebble that looks for its challenges at the ports of a listener for TLS and of one for plain HTTP.
type authority struct {
	*httptest.Server
	db    *db.MemoryStore
	names *challtestsrv.ChallSrv // it resolves all names to 127.0.0.1
}

// newAuthority starts an authority. Its certificates are valid for some seconds, or for 90 days if seconds is 0.
func newAuthority(t *testing.T, tlsPort, plainPort int, seconds uint64) *authority {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	resolver := free.Addr().String()
	require.NoError(t, free.Close())
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	names, err := challtestsrv.New(challtestsrv.Config{DNSAddrs: []string{resolver}, Log: quiet})
	require.NoError(t, err)
	names.SetDefaultDNSIPv4("127.0.0.1")
	names.SetDefaultDNSIPv6("")
	names.Run()
	t.Cleanup(names.Shutdown)
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", resolver)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)

	a := &authority{db: db.NewMemoryStore(), names: names}
	issuer := ca.New(quiet, a.db, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "The default profile", ValidityPeriod: seconds}})
	checker := va.New(quiet, plainPort, tlsPort, false, resolver, a.db)
	front := wfe.New(quiet, a.db, checker, issuer, []string{"pebble.example"}, false, false, 1, 1)
	a.Server = httptest.NewTLSServer(front.Handler())
	t.Cleanup(a.Close)
	return a
}

// site serves TLS and plain HTTP with the certificates of a source.
type site struct {
	tls, plain net.Listener
	mu         sync.Mutex
	log        bytes.Buffer
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	for _, l := range []*net.Listener{&s.tls, &s.plain} {
		var err error
		*l, err = net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
	}
	return s
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func (s *site) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

func (s *site) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// serve serves with a source until the test, or the returned function, ends it.
func (s *site) serve(t *testing.T, c certificate.Config) (*certificate.Source, func()) {
	t.Helper()
	c.Logger = slog.New(slog.NewJSONHandler(s, nil))
	source, err := certificate.New(c)
	require.NoError(t, err)
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	secure := &http.Server{Handler: hello, TLSConfig: source.TLS(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}
	plain := &http.Server{Handler: source.Plain()}
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { _ = secure.ServeTLS(s.tls, "", "") })
	ended.Go(func() { _ = plain.Serve(s.plain) })
	ended.Go(func() { source.Run(ctx) })
	end := sync.OnceFunc(func() {
		cancel()
		_, _ = secure.Close(), plain.Close()
		ended.Wait()
	})
	t.Cleanup(end)
	return source, end
}

func (s *site) dial(name string, most uint16) (*tls.ConnectionState, error) {
	conn, err := tls.Dial("tcp", s.tls.Addr().String(), &tls.Config{
		ServerName: name, InsecureSkipVerify: true, MaxVersion: most, NextProtos: []string{"h2"},
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	state := conn.ConnectionState()
	return &state, nil
}

func awaitCertificate(t *testing.T, s *site, source *certificate.Source, name string) {
	t.Helper()
	for end := time.After(time.Minute); time.Until(source.Expiries()[name]) < time.Hour; {
		select {
		case <-end:
			require.FailNow(t, "there is no certificate", s.logged())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

const api, dashboard = "api.shop.example", "dashboard.shop.example"

func TestCertificatesComeByEitherChallengeAndAreKept(t *testing.T) {
	for _, challenge := range []string{"tls-alpn-01", "http-01"} {
		t.Run(challenge, func(t *testing.T) {
			s := newSite(t)
			tlsPort, plainPort := portOf(s.tls), 1
			if challenge == "http-01" {
				tlsPort, plainPort = 1, portOf(s.plain)
			}
			a := newAuthority(t, tlsPort, plainPort, 0)
			folder := filepath.Join(t.TempDir(), "certificates")
			config := certificate.Config{Domains: []string{api, dashboard}, Folder: folder, Directory: a.URL + wfe.DirectoryPath}
			source, end := s.serve(t, config)
			for _, name := range config.Domains {
				awaitCertificate(t, s, source, name)
				state, err := s.dial(name, 0)
				require.NoError(t, err)
				require.NoError(t, state.PeerCertificates[0].VerifyHostname(name))
				require.Equal(t, "h2", state.NegotiatedProtocol)
			}
			for _, name := range []string{"other.shop.example", ""} {
				_, err := s.dial(name, 0)
				require.Error(t, err, "a name that is not configured gets no certificate")
			}
			_, err := s.dial(api, tls.VersionTLS11)
			require.Error(t, err)
			state, err := s.dial(api, tls.VersionTLS12)
			require.NoError(t, err)
			require.Contains(t, tls.CipherSuiteName(state.CipherSuite), "_GCM_")
			files, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Len(t, files, 3, "an account and two certificates")
			for _, file := range files {
				info, err := file.Info()
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
			}
			end()

			// After a restart the kept certificates are used, even while the authority is away.
			a.Close()
			again := newSite(t)
			kept, _ := again.serve(t, config)
			awaitCertificate(t, again, kept, api)
			state, err = again.dial(dashboard, 0)
			require.NoError(t, err)
			require.NoError(t, state.PeerCertificates[0].VerifyHostname(dashboard))
		})
	}
}

func TestANameThatFailsDoesNotDelayTheOthers(t *testing.T) {
	s := newSite(t)
	a := newAuthority(t, portOf(s.tls), portOf(s.plain), 0)
	require.NoError(t, a.db.AddBlockedDomain(dashboard))
	source, _ := s.serve(t, certificate.Config{Domains: []string{dashboard, api}, Folder: t.TempDir(), Directory: a.URL + wfe.DirectoryPath})
	awaitCertificate(t, s, source, api)
	require.Eventually(t, func() bool { return strings.Contains(s.logged(), `"name":"`+dashboard+`"`) }, time.Minute, 10*time.Millisecond)
	require.Contains(t, s.logged(), `"msg":"there is no new certificate"`)
	require.Contains(t, s.logged(), `"next":"`)
	require.Contains(t, strings.ToLower(s.logged()), "rejectedidentifier")
	require.Zero(t, source.Expiries()[dashboard])
}

// The name then leads to this server.
func TestANameThatFailedRecovers(t *testing.T) {
	s := newSite(t)
	a := newAuthority(t, portOf(s.tls), portOf(s.plain), 0)
	a.names.AddDNSARecord(dashboard, []string{"127.0.0.9"}) // where nobody listens
	source, _ := s.serve(t, certificate.Config{Domains: []string{api, dashboard}, Folder: t.TempDir(), Directory: a.URL + wfe.DirectoryPath})
	awaitCertificate(t, s, source, api)
	if !assert.Eventually(t, func() bool { return strings.Contains(s.logged(), "reached neither port 443 nor port 80") }, 3*time.Minute, 10*time.Millisecond) {
		require.FailNow(t, "the order does not fail", s.logged())
	}
	a.names.DeleteDNSARecord(dashboard)
	require.Eventually(t, func() bool { return !source.Expiries()[dashboard].IsZero() }, 3*time.Minute, 100*time.Millisecond, s.logged())
	state, err := s.dial(dashboard, 0)
	require.NoError(t, err)
	require.NoError(t, state.PeerCertificates[0].VerifyHostname(dashboard))
}

func TestACertificateIsRenewedBeforeItEnds(t *testing.T) {
	s := newSite(t)
	a := newAuthority(t, portOf(s.tls), portOf(s.plain), 15)
	s.serve(t, certificate.Config{Domains: []string{api}, Folder: t.TempDir(), Directory: a.URL + wfe.DirectoryPath})
	var first *x509.Certificate
	require.Eventually(t, func() bool {
		state, err := s.dial(api, 0)
		if err == nil {
			first = state.PeerCertificates[0]
		}
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		state, err := s.dial(api, 0)
		require.NoError(t, err, "there is a certificate meanwhile")
		return state.PeerCertificates[0].SerialNumber.Cmp(first.SerialNumber) != 0
	}, time.Until(first.NotAfter), 100*time.Millisecond)
}

func TestPlainHTTPOnlyRedirects(t *testing.T) {
	s := newSite(t)
	a := newAuthority(t, portOf(s.tls), portOf(s.plain), 0)
	s.serve(t, certificate.Config{Domains: []string{api}, Folder: t.TempDir(), Directory: a.URL + wfe.DirectoryPath})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, row := range []struct {
		method, host, path string
		status             int
		location           string
	}{
		{http.MethodGet, api, "/v1/products?page=2", http.StatusMovedPermanently, "https://" + api + "/v1/products?page=2"},
		{http.MethodPost, api, "/v1/customers", http.StatusForbidden, ""},
		{http.MethodGet, "other.shop.example", "/", http.StatusMisdirectedRequest, ""},
		{http.MethodGet, api, "/.well-known/acme-challenge/nothing", http.StatusNotFound, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), row.method, "http://"+s.plain.Addr().String()+row.path, nil)
		require.NoError(t, err)
		r.Host = row.host
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, row.status, answer.StatusCode, row.path)
		require.Equal(t, row.location, answer.Header.Get("Location"))
	}
}
