// Package certificate has the certificates of the public listener: by ACME (RFC 8555), or from two files that somebody renews.
package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Config has Domains for ACME, or CertFile and KeyFile.
type Config struct {
	// Domains are the names that get a certificate each.
	Domains []string
	// Folder keeps the account's key and the certificates.
	Folder string
	// Email is where the authority warns about certificates; empty means none.
	Email string
	// Directory is the address of the authority's ACME directory; empty means Let's Encrypt.
	Directory string
	// CertFile and KeyFile are in PEM. They are read again when one has changed.
	CertFile, KeyFile string
	Logger            *slog.Logger
	// Failing, unless nil, is called when a name begins to fail: it gets no certificate, or its certificate was not renewed in time.
	// ends is zero without a certificate.
	Failing func(ctx context.Context, name string, ends time.Time, err error)
}

// Source returns certificates to a TLS listener. Goroutines share it.
type Source struct {
	config Config
	acme   *autocert.Manager // nil with files

	mu      sync.Mutex
	pair    *tls.Certificate
	read    [2]stamp // of the files that pair was read from
	expires map[string]time.Time
}

type stamp struct {
	size int64
	at   time.Time
}

// New fails if the files have no valid pair. Run orders certificates by ACME.
func New(c Config) (*Source, error) {
	s := &Source{config: c, expires: map[string]time.Time{}}
	if c.CertFile != "" {
		_, err := s.fromFiles()
		return s, err
	}
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return nil, err
	}
	s.acme = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(c.Folder), HostPolicy: autocert.HostWhitelist(c.Domains...), Email: c.Email,
		Client: &acme.Client{DirectoryURL: c.Directory, UserAgent: "storefront"},
	}
	for _, domain := range c.Domains {
		s.expires[domain] = time.Time{}
	}
	return s, nil
}

// TLS returns TLS 1.2 and later, with forward secrecy and authenticated encryption only.
func (s *Source) TLS() *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: s.get, NextProtos: []string{"h2", "http/1.1"},
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
	}
	if s.acme != nil {
		c.NextProtos = append(c.NextProtos, acme.ALPNProto)
	}
	return c
}

// Plain is the handler of port 80: it answers the authority's challenges and redirects all else to https.
func (s *Source) Plain() http.Handler {
	redirect := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
		if s.acme != nil && !slices.Contains(s.config.Domains, host) {
			http.Error(w, "This name is not served here.", http.StatusMisdirectedRequest)
			return
		}
		// A body, and a key that was sent in clear, must not be sent again without anybody noticing.
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "Use https.", http.StatusForbidden)
			return
		}
		http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusMovedPermanently)
	})
	if s.acme == nil {
		return redirect
	}
	challenges := s.acme.HTTPHandler(redirect)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// autocert compares the names without a port, which another machine may map.
		r.Host, _, _ = strings.Cut(r.Host, ":")
		challenges.ServeHTTP(w, r)
	})
}

// Expiries returns when the certificate of each domain ends; the zero time means none yet.
func (s *Source) Expiries() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.expires)
}

func (s *Source) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s.acme != nil {
		return s.acme.GetCertificate(hello)
	}
	pair, err := s.fromFiles()
	if pair == nil {
		return nil, err
	}
	if hello.ServerName != "" {
		if err := pair.Leaf.VerifyHostname(hello.ServerName); err != nil {
			return nil, err
		}
	}
	return pair, nil
}

// fromFiles returns the pair in the files. If they changed and are no pair, as while they are replaced, it returns the pair
// before and an error.
func (s *Source) fromFiles() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var now [2]stamp
	for i, path := range []string{s.config.CertFile, s.config.KeyFile} {
		info, err := os.Stat(path)
		if err != nil {
			return s.pair, err
		}
		now[i] = stamp{info.Size(), info.ModTime()}
	}
	if s.pair != nil && now == s.read {
		return s.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(s.config.CertFile, s.config.KeyFile)
	if err != nil {
		return s.pair, err
	}
	s.pair, s.read = &pair, now
	clear(s.expires)
	for _, name := range pair.Leaf.DNSNames {
		s.expires[name] = pair.Leaf.NotAfter
	}
	return s.pair, nil
}

const (
	// checkInterval is how often Run looks at the certificates. Those by ACME are renewed a third of their life before they end.
	checkInterval = time.Hour
	// firstRetry is how long after a failed order the next is made; the wait doubles up to checkInterval. autocert refuses
	// earlier orders of a name.
	firstRetry = 70 * time.Second
)

// Run orders missing certificates and follows their renewal until the context ends. A name that fails does not delay the
// others.
func (s *Source) Run(ctx context.Context) {
	var names sync.WaitGroup
	if s.acme == nil {
		names.Go(func() { s.follow(ctx, s.config.CertFile, s.look) })
	}
	for _, domain := range s.config.Domains {
		if s.acme != nil {
			names.Go(func() { s.follow(ctx, domain, func() (time.Time, error) { return s.order(domain) }) })
		}
	}
	names.Wait()
}

// follow calls check every checkInterval, and sooner after an error, which it logs.
func (s *Source) follow(ctx context.Context, name string, check func() (ends time.Time, err error)) {
	retry, failing := firstRetry, false
	for {
		wait := checkInterval
		ends, err := check()
		if err == nil {
			retry, failing = firstRetry, false
		} else {
			wait = min(retry, checkInterval)
			retry *= 2
			s.config.Logger.ErrorContext(ctx, "there is no new certificate", "name", name, "error", err,
				"next", time.Now().Add(wait).UTC().Format(time.RFC3339))
			if !failing && s.config.Failing != nil {
				s.config.Failing(ctx, name, ends, err)
			}
			failing = true
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// late returns an error if a quarter of a certificate's life is left: renewal begins when a third is left.
func late(c *x509.Certificate) error {
	if time.Until(c.NotAfter) > c.NotAfter.Sub(c.NotBefore)/4 {
		return nil
	}
	return fmt.Errorf("it ends at %s and was not renewed", c.NotAfter.UTC().Format(time.RFC3339))
}

// look reads the files again.
func (s *Source) look() (time.Time, error) {
	pair, err := s.fromFiles()
	if err == nil {
		err = late(pair.Leaf)
	}
	if pair == nil {
		return time.Time{}, err
	}
	return pair.Leaf.NotAfter, err
}

// order returns once there is a certificate of the domain.
func (s *Source) order(domain string) (time.Time, error) {
	pair, err := s.acme.GetCertificate(&tls.ClientHelloInfo{
		ServerName: domain, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, SupportedCurves: []tls.CurveID{tls.CurveP256},
	})
	if err != nil && strings.Contains(err.Error(), "no viable challenge") {
		return time.Time{}, fmt.Errorf("%w: under this name the authority reached neither port 443 nor port 80 of this server", err)
	}
	if err != nil {
		return time.Time{}, err
	}
	if pair.Leaf == nil {
		return time.Time{}, errors.New("the certificate cannot be read")
	}
	s.mu.Lock()
	known := s.expires[domain]
	s.expires[domain] = pair.Leaf.NotAfter
	s.mu.Unlock()
	if !known.Equal(pair.Leaf.NotAfter) {
		s.config.Logger.Info("a certificate", "name", domain, "until", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return pair.Leaf.NotAfter, late(pair.Leaf)
}
