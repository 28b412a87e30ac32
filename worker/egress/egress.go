// Package egress makes outgoing webhook requests. It holds the rules for a webhook's URL and the HTTP client that posts to
// it and never connects to an internal address. It imports nothing of the project, so that registration and delivery share
// one set of rules.
//
// A receiver is untrusted. It may point its name at the operator's own network. So each connection checks every address of
// the name, dials an address that was checked, and checks the address once more in the system's call:
//
//	URL text ─► rules ─► look-up ─► every address checked ─► dial that address ─► Control ─► TLS
//	               │                       │ one refused                          │
//	               └──── "address refused" ┴──────────────────────────────────────┘
//
// A receiver may answer slowly, endlessly or not at all. So one deadline covers everything up to the response headers, and
// the headers are bounded. The body of a success is ignored; a little of it is read so that the connection can be used
// again. The beginning of a failure's body is kept, because the receiver's owner may need it. Nothing is decompressed and
// redirects are not followed. The client uses HTTP/1.1 only: one request holds one connection, and there are no streams,
// windows, settings, pings or header tables for which a receiver could make the client use memory.
//
// The package never reads a proxy from the environment: only the operator's own proxy is used. The proxy then resolves names
// and must apply its own rules; the rules for the URL's text still apply here.
package egress

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
)

const (
	// DefaultTimeout is how long a receiver may take (specification, Limits).
	DefaultTimeout = 10 * time.Second
	// idleTimeout is below the 5 s after which several common servers close idle connections, when a request would be lost.
	idleTimeout = 4 * time.Second
	// maxHeaderBytes includes informational responses.
	maxHeaderBytes = 64 << 10
	// maxDrainBytes and drainTimeout bound what the client reads of a body before it closes the connection.
	maxDrainBytes = 4 << 10
	drainTimeout  = 50 * time.Millisecond
	// MaxAnswerBytes of a failure's body are kept. answerTimeout limits the wait for them.
	MaxAnswerBytes = 1 << 10
	answerTimeout  = 500 * time.Millisecond
)

// Options are the settings of a Client. The zero value posts to public https addresses.
type Options struct {
	Policy Policy
	// Timeout is from the look-up to the response headers; 0 means DefaultTimeout.
	Timeout time.Duration
	// Proxy is nil for none.
	Proxy *url.URL
	// RootCAs are the trusted authorities, nil for the system's.
	RootCAs *x509.CertPool
	// Resolver is nil for net.DefaultResolver.
	Resolver Resolver
	// MaxIdleConnsPerHost and MaxIdleConns bound the idle connections per host and in all; 0 means 8 and 512.
	MaxIdleConnsPerHost, MaxIdleConns int
}

// Client posts to receivers. It keeps idle connections, so one is enough for a process. Goroutines may share it. Make it with
// New.
type Client struct {
	policy    Policy
	timeout   time.Duration
	transport *http.Transport
	// fresh makes a new connection for each request; transport reuses connections.
	fresh  *http.Transport
	drains sync.WaitGroup
	// drainTimeout is the constant, except in tests.
	drainTimeout time.Duration
}

// New returns a client. Close releases it.
func New(o Options) *Client {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxIdleConnsPerHost, o.MaxIdleConns = cmp.Or(o.MaxIdleConnsPerHost, 8), cmp.Or(o.MaxIdleConns, 512)
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	config := &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	d := &dialer{policy: o.Policy, resolver: o.Resolver, tls: config}
	transport := &http.Transport{
		DialContext:            d.dial,
		DialTLSContext:         d.dialTLS,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    o.Timeout, // used only with a proxy; otherwise dialTLS bounds the handshake by the attempt's deadline
		Protocols:              new(http.Protocols),
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost:    o.MaxIdleConnsPerHost,
		MaxIdleConns:           o.MaxIdleConns,
		IdleConnTimeout:        idleTimeout,
	}
	transport.Protocols.SetHTTP1(true)
	if o.Proxy != nil {
		transport.Proxy = http.ProxyURL(o.Proxy)
		// The operator's proxy may have any address. The client connects to nothing else.
		transport.DialTLSContext = nil
		transport.DialContext = func(ctx context.Context, network, target string) (net.Conn, error) {
			ctx, cancel := withStoredDeadline(ctx)
			defer cancel()
			return new(net.Dialer).DialContext(ctx, network, target)
		}
		transport.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			if answer.StatusCode != http.StatusOK {
				return errProxyRefused // net/http's own error would repeat what the proxy wrote
			}
			return nil
		}
	}
	fresh := transport.Clone()
	fresh.DisableKeepAlives = true
	return &Client{policy: o.Policy, timeout: o.Timeout, transport: transport, fresh: fresh, drainTimeout: drainTimeout}
}

// Result is how an attempt ended.
type Result struct {
	// Status is that of the response, or 0.
	Status int
	// Problem is "" for a 2xx response, otherwise one of this package's texts, of at most 64 bytes, without address, URL or
	// secret.
	Problem string
	// Duration ends with the response headers or the problem.
	Duration time.Duration
	// Answer is the beginning of a failure's body as text, of at most MaxAnswerBytes bytes on the wire.
	Answer string
}

// Succeeded reports whether the receiver answered with 2xx.
func (r Result) Succeeded() bool { return r.Problem == "" }

// Post makes one attempt: it posts body to target with header, which must have a User-Agent. It returns with the response
// headers and the beginning of a failure's body, or with a problem, the timeout or the context's end. If the receiver closed an
// idle connection without a byte of an answer, it posts once more on a new one. Goroutines may share header and body, unchanged
// during the call.
func (c *Client) Post(ctx context.Context, target string, header http.Header, body []byte) Result {
	start := time.Now()
	answer, release, err := c.send(ctx, target, header, body, start.Add(c.timeout))
	if err != nil {
		return Result{Problem: problemOf(err), Duration: time.Since(start)}
	}
	result := Result{Status: answer.StatusCode, Problem: statusProblem(answer.StatusCode), Duration: time.Since(start)}
	if !result.Succeeded() && answer.StatusCode != http.StatusSwitchingProtocols {
		result.Answer = readPrefix(answer, release)
	}
	c.drainBody(answer, release)
	return result
}

// readPrefix removes control characters. It closes a slow connection and returns what has arrived.
func readPrefix(answer *http.Response, release context.CancelFunc) string {
	defer time.AfterFunc(answerTimeout, release).Stop()
	body := make([]byte, MaxAnswerBytes)
	n, _ := io.ReadFull(answer.Body, body) // the bytes so far are kept
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(body[:n]), "\uFFFD")))
}

// send returns the response with its body unread. If err is nil, the caller must call release, which closes the connection
// unless the body was read to its end.
func (c *Client) send(ctx context.Context, target string, header http.Header, body []byte, deadline time.Time) (*http.Response,
	context.CancelFunc, error) {
	u, refusal := c.policy.parse(target)
	if refusal != nil {
		return nil, nil, refusal
	}
	ctx, release := context.WithDeadline(withDeadline(ctx, deadline), deadline)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(body))
	if err != nil {
		release()
		return nil, nil, err
	}
	request.URL, request.Host, request.Header = u, u.Host, header
	var reused, answered atomic.Bool // atomic, because goroutines of net/http may still set them after an error
	request = request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { reused.Store(info.Reused) },
		GotFirstResponseByte: func() { answered.Store(true) },
	}))
	// Unlike an http.Client, RoundTrip follows no redirects and adds no cookies and no Referer.
	answer, err := c.transport.RoundTrip(request)
	// net/http itself does not repeat a POST of which any byte was sent.
	if err != nil && reused.Load() && !answered.Load() && slices.Contains([]string{ProblemClosed, ProblemReset}, problemOf(err)) {
		request.Body, _ = request.GetBody() // never fails
		answer, err = c.fresh.RoundTrip(request)
	}
	if err != nil {
		// The context's error comes first, so that the attempt ends with ProblemTimeout or ProblemInterrupted, whatever
		// net/http returned.
		err = errors.Join(ctx.Err(), err)
		release()
		return nil, nil, err
	}
	return answer, release, nil
}

// drainBody reads a body that may end within maxDrainBytes in the background, so that the connection can be used again, or
// closes the connection.
func (c *Client) drainBody(answer *http.Response, release context.CancelFunc) {
	switch {
	case answer.Body == http.NoBody:
		release()
	case answer.ContentLength > maxDrainBytes, answer.StatusCode == http.StatusSwitchingProtocols:
		release()
		_ = answer.Body.Close()
	default:
		c.drains.Go(func() {
			stop := time.AfterFunc(c.drainTimeout, release)
			_, _ = io.CopyN(io.Discard, answer.Body, maxDrainBytes+1)
			stop.Stop()
			_ = answer.Body.Close()
			release()
		})
	}
}

// Close closes the idle connections. No Post may run during or after the call.
func (c *Client) Close() {
	c.drains.Wait()
	c.transport.CloseIdleConnections()
}
