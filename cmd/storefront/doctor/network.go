package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// patience is how long another process or host may take to answer.
const patience = 10 * time.Second

// maxAnswerBytes bounds what is read of an answer.
const maxAnswerBytes = 64 << 10

// Windows has numbers of its own for the errors of sockets; package syscall's others never come there.
const (
	wsaAccess       = syscall.Errno(10013)
	wsaAddressInUse = syscall.Errno(10048)
)

// IsTaken reports whether an address cannot be listened on because something else does.
func IsTaken(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddressInUse)
}

// isForbidden reports whether this user may not listen on an address.
func isForbidden(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, wsaAccess)
}

// Addr looks whether the public API's address is free, or taken by a server of ours.
func Addr(ctx context.Context, addr string) Finding {
	return address(ctx, "addr", addr, "/v1/store", func(status int, body []byte) bool {
		// It refuses a request without a key, and one of an address beyond its limit before that.
		var refused struct {
			StatusCode int       `json:"statusCode"`
			Code       string    `json:"code"`
			RequestID  uuid.UUID `json:"requestId"`
		}
		return json.Unmarshal(body, &refused) == nil && refused.StatusCode == status && refused.Code != "" &&
			refused.RequestID != uuid.Nil
	})
}

// AdminAddr looks whether the operator's address is free, or taken by a server of ours that is
// alive.
func AdminAddr(ctx context.Context, addr string) Finding {
	return address(ctx, "admin-addr", addr, "/healthz", func(status int, body []byte) bool {
		var health struct{ Status string }
		return status == http.StatusOK && json.Unmarshal(body, &health) == nil && health.Status == "ok"
	})
}

// address binds the address for a moment; if it is taken, address asks its owner at the path.
func address(ctx context.Context, check, addr, path string, ours func(status int, body []byte) bool) Finding {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		_ = l.Close()
		return ok(check, "%s is free", addr)
	case isForbidden(err):
		return fail(check, "choose a port from 1024 up with --"+check+", or give the service CAP_NET_BIND_SERVICE", "%v", err)
	case !IsTaken(err):
		return fail(check, "set --"+check+" to an address of this machine, such as 127.0.0.1:8081 or :8080", "%v", err)
	}
	status, body, err := ask(ctx, "http://"+reachable(addr)+path)
	if err == nil && ours(status, body) {
		return ok(check, "%s is taken by a server that runs and answers", addr)
	}
	return fail(check, "stop what holds it, or choose another with --"+check,
		"%s is taken by something that does not answer as a server of this service", addr)
}

// reachable is an address to connect to what listens on one.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func ask(ctx context.Context, target string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	return answer.StatusCode, body, err
}

// NoCheck is what Outbound takes for a machine that connects to nothing outside.
const NoCheck = "none"

// Outbound makes one TLS connection to an https address and asks it HEAD /; whatever it answers,
// deliveries could reach it. An empty address and NoCheck are not connected to. The proxy, unless
// nil, is what deliveries go through.
func Outbound(ctx context.Context, target string, proxy *url.URL) Finding {
	const check = "outbound-https"
	const skip = "; on a machine that is to reach nothing outside, skip this with --check-url none"
	if target == NoCheck {
		return ok(check, "skipped")
	}
	if target == "" {
		return warn(check, "name an address that must be reachable with --check-url https://…"+skip,
			"not checked: no address is set to connect to")
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fail(check, "set --check-url to an address such as https://www.example.com", "--check-url is no https address")
	}
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, u.String(), nil)
	if err != nil {
		return fail(check, "set --check-url to an address such as https://www.example.com", "--check-url is no https address")
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
	}
	answer, err := transport.RoundTrip(r)
	if err == nil {
		_ = answer.Body.Close()
		return ok(check, "%s answers over a connection that is trusted", u.Host)
	}
	message, remedy := unreached(err)
	return fail(check, remedy+skip, "%s: %s", u.Host, message)
}

// unreached returns why a host was not reached, and what to do about it.
func unreached(err error) (message, remedy string) {
	var (
		name      *net.DNSError
		untrusted *tls.CertificateVerificationError
		noRoots   x509.SystemRootsError
	)
	switch {
	case errors.As(err, &name):
		return "the name cannot be looked up", "is this machine offline? Correct its DNS servers, or --check-url"
	case errors.As(err, &untrusted), errors.As(err, &noRoots):
		return "its certificate is not trusted", "install the system's authorities (the package ca-certificates), or name a file of " +
			"them in SSL_CERT_FILE"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer within " + patience.String(), "let the firewall pass connections out to port 443, or set --egress-proxy"
	}
	// The error repeats the URL, and with it a proxy's password.
	if of, ok := errors.AsType[*net.OpError](err); ok {
		return lowerCase(of.Err.Error()), "let the firewall pass connections out to port 443, or set --egress-proxy"
	}
	return "no TLS connection", "is it an https address? A proxy between may answer in its place"
}

func lowerCase(text string) string { return strings.ToLower(text[:1]) + text[1:] }
