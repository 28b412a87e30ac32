// Package egress is the way out: the rules that the URL of a webhook must follow, and the HTTP
// client that posts to it and never connects to an address inside. It imports nothing of the
// project, so that registration and delivery share one set of rules.
//
// A receiver is a stranger. It may point its name at the operator's own network, so each address
// that a name has is checked at each connection, the checked address is the one that is dialled,
// and the system's call is checked once more:
//
//	URL text ─► rules ─► look-up ─► every address checked ─► dial that address ─► Control ─► TLS
//	               │                       │ one refused                          │
//	               └──── "address refused" ┴──────────────────────────────────────┘
//
// It may answer slowly, endlessly or not at all, so one deadline covers everything up to the
// answer's headers, which are bounded; the body means nothing, is never waited for, and what little
// of it is there is thrown away to use the connection again. Nothing is unpacked and redirects are
// not followed. It speaks HTTP/1.1 only: one request holds one connection, and there are no
// streams, windows, settings, pings or header tables that a receiver could make this side keep.
//
// The package refuses to read a proxy from the environment: only the operator's own is used, which
// then looks names up and must do so behind rules of its own; those of the URL's text hold here.
package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	// DefaultTimeout is how long a receiver may take (specification, Limits).
	DefaultTimeout = 10 * time.Second
	// idleTimeout keeps a connection for less time than receivers do: several common servers close
	// after 5 s, and a request that meets the close on its way is lost, though nobody was at fault.
	idleTimeout = 4 * time.Second
	// maxHeaderBytes bounds the headers of an answer, informational ones before it included.
	maxHeaderBytes = 64 << 10
	// maxDrainBytes and drainTimeout bound what is thrown away of an answer's body before its
	// connection is given up.
	maxDrainBytes = 4 << 10
	drainTimeout  = 50 * time.Millisecond
)

// Options are the settings of a Client. The zero value posts to public https addresses.
type Options struct {
	Policy Policy
	// Timeout bounds an attempt from the look-up to the answer's headers; 0 means DefaultTimeout.
	Timeout time.Duration
	// Proxy is where connections are made through, nil for none.
	Proxy *url.URL
	// RootCAs are the authorities that are trusted, nil for the system's.
	RootCAs *x509.CertPool
	// Resolver looks names up, nil for net.DefaultResolver.
	Resolver Resolver
	// MaxConnsPerHost bounds the connections to one host, those in use included; an attempt that
	// waits for one spends its own time. 0 means no bound.
	MaxConnsPerHost int
	// MaxIdleConnsPerHost and MaxIdleConns bound the connections kept for later, per host and in
	// all; 0 means 8 and 512.
	MaxIdleConnsPerHost, MaxIdleConns int
}

// Client posts to receivers. Goroutines may share it, and one is enough for a process: it keeps the
// connections. Make it with New.
type Client struct {
	policy    Policy
	timeout   time.Duration
	transport *http.Transport
	drains    sync.WaitGroup
}

// New returns a client; Close ends it.
func New(o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.MaxIdleConnsPerHost == 0 {
		o.MaxIdleConnsPerHost = 8
	}
	if o.MaxIdleConns == 0 {
		o.MaxIdleConns = 512
	}
	config := &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	d := &dialer{policy: o.Policy, resolver: o.Resolver, tls: config, timeout: o.Timeout}
	transport := &http.Transport{
		DialContext:            d.dial,
		DialTLSContext:         d.dialTLS,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    o.Timeout, // through a proxy only; dialTLS has the attempt's deadline
		Protocols:              new(http.Protocols),
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxConnsPerHost:        o.MaxConnsPerHost,
		MaxIdleConnsPerHost:    o.MaxIdleConnsPerHost,
		MaxIdleConns:           o.MaxIdleConns,
		IdleConnTimeout:        idleTimeout,
	}
	transport.Protocols.SetHTTP1(true)
	if o.Proxy != nil {
		transport.Proxy = http.ProxyURL(o.Proxy)
		// The operator's proxy may stand at any address, and is all that is ever dialled.
		transport.DialTLSContext = nil
		transport.DialContext = func(ctx context.Context, network, target string) (net.Conn, error) {
			ctx, cancel := d.bound(ctx)
			defer cancel()
			return new(net.Dialer).DialContext(ctx, network, target)
		}
		transport.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			return proxyAnswered(answer)
		}
	}
	return &Client{policy: o.Policy, timeout: o.Timeout, transport: transport}
}

// Result is how an attempt ended.
type Result struct {
	// Status is the status of the answer, 0 when there was none.
	Status int
	// Problem is "" when the attempt succeeded, that is, was answered with 2xx; else it is one of
	// the texts of this package, of at most 64 bytes, and holds no address, URL or secret.
	Problem string
	// Duration is the time from the call to the answer's headers or to the problem.
	Duration time.Duration
}

// Succeeded tells whether the receiver answered with 2xx.
func (r Result) Succeeded() bool { return r.Problem == "" }

// Post makes one attempt: one POST with exactly these headers, Host and Content-Length, and never a
// second one. It returns as soon as the headers of the answer are there, a problem is known, the
// timeout has passed or the context is cancelled. The header and the body must not be changed
// meanwhile; several calls may share them.
func (c *Client) Post(ctx context.Context, target string, header http.Header, body []byte) Result {
	start := time.Now()
	answer, release, err := c.send(ctx, target, header, body, start.Add(c.timeout))
	if err != nil {
		return Result{Problem: problemOf(err), Duration: time.Since(start)}
	}
	result := Result{Status: answer.StatusCode, Problem: statusProblem(answer.StatusCode), Duration: time.Since(start)}
	c.drop(answer, release)
	return result
}

// send makes the request and returns the answer before its body was read. release gives up the
// connection unless the body was read to its end; without an error it must be called.
func (c *Client) send(ctx context.Context, target string, header http.Header, body []byte, deadline time.Time) (*http.Response, context.CancelFunc, error) {
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
	if header.Values("User-Agent") == nil {
		request.Header = header.Clone()
		if request.Header == nil {
			request.Header = http.Header{}
		}
		request.Header["User-Agent"] = []string{""} // or net/http would send its own
	}
	// A RoundTrip and no http.Client: no redirects, no cookies, no Referer.
	answer, err := c.transport.RoundTrip(request)
	if err != nil {
		// The cause is told apart here: a dial may end a moment before the request's own deadline.
		err = errors.Join(ctx.Err(), err)
		release()
		return nil, nil, err
	}
	return answer, release, nil
}

// drop throws the body of an answer away. A body that may end within maxDrainBytes is read aside
// for drainTimeout, so that its connection can be used again; any other one is closed with it.
func (c *Client) drop(answer *http.Response, release context.CancelFunc) {
	switch {
	case answer.Body == http.NoBody:
		release()
	case answer.ContentLength > maxDrainBytes, answer.StatusCode == http.StatusSwitchingProtocols:
		release()
		_ = answer.Body.Close()
	default:
		c.drains.Go(func() {
			stop := time.AfterFunc(drainTimeout, release)
			_, _ = io.CopyN(io.Discard, answer.Body, maxDrainBytes+1)
			stop.Stop()
			_ = answer.Body.Close()
			release()
		})
	}
}

// Close gives up the connections that are kept. No Post may be running or follow.
func (c *Client) Close() {
	c.drains.Wait()
	c.transport.CloseIdleConnections()
}
