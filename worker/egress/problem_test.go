package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func reset(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

func respond(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = readRequest(conn)
		_, _ = io.WriteString(conn, text)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	secure := func(handle func(net.Conn)) func(testing.TB) string {
		return func(t testing.TB) string { return listenTLS(t, good().server, handle).url() }
	}
	presents := func(change func(*x509.Certificate)) func(testing.TB) (string, func(*Options)) {
		return func(t testing.TB) (string, func(*Options)) {
			other := newCertified(change)
			return listenTLS(t, other.server, replies(noContent)).url(), func(o *Options) { o.RootCAs = other.roots }
		}
	}
	gone := func(t testing.TB) string {
		r := listen(t, nil)
		r.stop()
		return r.url()
	}
	always := func(target string) func(testing.TB) string { return func(testing.TB) string { return target } }
	for _, row := range []struct {
		reason string
		target func(testing.TB) string
		setup  func(testing.TB) (string, func(*Options)) // returns the URL and a change of the options; if nil, target and change apply
		change func(*Options)
		status int
		want   string
	}{
		{reason: "an empty answer", target: secure(replies(noContent)), status: 204},
		{reason: "the first success", target: secure(respond("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")), status: 200},
		{reason: "the last success, without a reason phrase", target: secure(respond("HTTP/1.1 299 \r\n\r\n")), status: 299},
		{reason: "HTTP/1.0 is enough", target: secure(respond("HTTP/1.0 200 OK\r\n\r\nok")), status: 200},
		{reason: "an answer after an informational one", target: secure(respond("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" +
			noContent)), status: 204},
		{reason: "a redirect", target: secure(respond("HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:1/\r\n\r\n")), status: 302,
			want: "redirect 302"},
		{reason: "a redirect that keeps the method", target: secure(respond("HTTP/1.1 308 Permanent Redirect\r\nLocation: /\r\n\r\n")),
			status: 308, want: "redirect 308"},
		{reason: "the receiver's refusal", target: secure(respond("HTTP/1.1 410 Gone\r\n\r\n")), status: 410, want: "status 410"},
		{reason: "the receiver's failure", target: secure(respond("HTTP/1.1 500 whsec_canary\r\n\r\nwhsec_canary")), status: 500,
			want: "status 500"},
		{reason: "another protocol",
			target: secure(respond("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")), status: 101,
			want: "status 101"},
		{reason: "nobody listens", target: gone, want: "connection refused"},
		{reason: "a reset after the request", target: secure(func(conn net.Conn) { _, _ = readRequest(conn); reset(conn) }),
			want: "connection reset"},
		{reason: "a close after the request", target: secure(respond("")), want: "connection closed without an answer"},
		{reason: "a close within the headers", target: secure(respond("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")),
			want: "connection closed without an answer"},
		{reason: "silence", target: secure(func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }),
			change: func(o *Options) { o.Timeout = 200 * time.Millisecond }, want: "timeout"},
		{reason: "no TLS", target: func(t testing.TB) string {
			return listen(t, func(conn net.Conn) {
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			}).url()
		}, want: "TLS handshake failed"},
		{reason: "a close in the handshake", target: func(t testing.TB) string {
			return listen(t, func(conn net.Conn) {
				_, _ = io.ReadFull(conn, make([]byte, 50))
				_ = conn.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, conn)
			}).url()
		}, want: "TLS handshake failed"},
		{reason: "no protocol in common", target: func(t testing.TB) string {
			config := good().server.Clone()
			config.NextProtos = []string{"imap"}
			return listenTLS(t, config, replies(noContent)).url()
		}, want: "TLS handshake failed"},
		{reason: "TLS 1.1", target: func(t testing.TB) string {
			config := good().server.Clone()
			config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
			return listenTLS(t, config, replies(noContent)).url()
		}, want: "TLS handshake failed"},
		{reason: "a certificate that nobody vouches for", target: secure(replies(noContent)),
			change: func(o *Options) { o.RootCAs = x509.NewCertPool() }, want: "certificate not valid: unknown authority"},
		{reason: "a certificate of the past",
			setup: presents(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
			want:  "certificate not valid: expired or not yet valid"},
		{reason: "a certificate of the future",
			setup: presents(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }),
			want:  "certificate not valid: expired or not yet valid"},
		{reason: "a certificate of another host", setup: presents(func(c *x509.Certificate) { c.IPAddresses = nil }),
			want: "certificate not valid: other host name"},
		{reason: "a certificate for something else",
			setup: presents(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection} }),
			want:  "certificate not valid"},
		{reason: "1 MB of headers", target: secure(respond("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("x", 997)+"\r\n",
			1000) + "\r\n")), want: "response headers too large"},
		{reason: "something else than HTTP", target: secure(respond("SSH-2.0-OpenSSH_9.9\r\n")), want: "answer is not HTTP"},
		{reason: "a frame of HTTP/2", target: secure(respond("\x00\x00\x00\x04\x00\x00\x00\x00\x00\r\n")), want: "answer is not HTTP"},
		{reason: "two lengths", target: secure(respond("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")),
			want: "answer is not HTTP"},
		{reason: "a name that nobody has", target: always("https://shop.example.com/"),
			change: func(o *Options) {
				o.Resolver = &answers{err: &net.DNSError{Err: "no such host", Name: "shop.example.com", IsNotFound: true}}
			}, want: "name not found"},
		{reason: "a name without addresses", target: always("https://shop.example.com/"),
			change: func(o *Options) { o.Resolver = answer(nil) }, want: "name not found"},
		{reason: "a name server that fails", target: always("https://shop.example.com/"),
			change: func(o *Options) {
				o.Resolver = &answers{err: &net.DNSError{Err: "server misbehaving", Server: "10.0.0.53:53"}}
			}, want: "name look-up failed"},
		{reason: "a name server that is silent", target: always("https://shop.example.com/"),
			change: func(o *Options) { o.Resolver = silent{}; o.Timeout = 100 * time.Millisecond }, want: "timeout"},
		{reason: "a refused address", target: always("https://169.254.169.254/"), want: "address refused"},
		{reason: "a URL that the rules no longer allow", target: always("http://127.0.0.1/"), want: "URL not allowed"},
		{reason: "a proxy that refuses", setup: func(t testing.TB) (string, func(*Options)) {
			proxy := listen(t, respond("HTTP/1.1 403 whsec_canary\r\n\r\n"))
			return "https://shop.example.com/",
				func(o *Options) { o.Proxy = must(url.Parse("http://user:whsec_canary@" + proxy.Addr().String())) }
		}, want: "proxy refused"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if row.setup == nil {
				row.setup = func(t testing.TB) (string, func(*Options)) { return row.target(t), row.change }
			}
			target, change := row.setup(t)
			result := newClient(t, change).Post(t.Context(), target, headers(), []byte(`{"id":1}`))
			require.Equal(t, row.want, result.Problem)
			require.Equal(t, row.status, result.Status)
			require.Equal(t, row.want == "", result.Succeeded())
			require.Positive(t, result.Duration)
		})
	}
}

type silent struct{}

func (silent) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// These errors no listener on this machine can cause.
func TestProblemOf(t *testing.T) {
	t.Parallel()
	system := func(number syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", number)}
	}
	for _, row := range []struct {
		reason string
		err    error
		want   string
	}{
		{"no route", system(syscall.EHOSTUNREACH), "host unreachable"},
		{"no network", system(syscall.ENETUNREACH), "host unreachable"},
		{"a connection that the system gave up", system(syscall.ETIMEDOUT), "timeout"},
		{"a pipe without a reader", system(syscall.EPIPE), "connection reset"},
		{"refused, Windows error number", system(10061), "connection refused"},
		{"reset, Windows error number", system(10054), "connection reset"},
		{"unreachable, Windows error number", system(10065), "host unreachable"},
		{"no more files", system(syscall.EMFILE), "connection failed"},
		{"an alert of TLS", tls.AlertError(40), "TLS handshake failed"},
		{"a refused address inside the dialler's error", &net.OpError{Op: "dial", Err: errAddressRefused}, "address refused"},
		{"a timeout beside what it made fail", errors.Join(context.DeadlineExceeded, io.EOF), "timeout"},
		{"a connection that was closed while it was kept", errors.New("http: server closed idle connection"),
			"connection closed without an answer"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			require.Equal(t, row.want, problemOf(fmt.Errorf("post: %w", row.err)))
		})
	}
}

func TestPostEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := listenTLS(t, good().server, func(conn net.Conn) {
		_, _ = readRequest(conn)
		cancel()
		_, _ = io.Copy(io.Discard, conn)
	})
	require.Equal(t, "interrupted", newClient(t, nil).Post(ctx, r.url(), headers(), nil).Problem)
}

func TestEveryProblemHasAMeaning(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("problem.go")
	require.NoError(t, err)
	named := regexp.MustCompile(`(?m)^\tProblem\w+ += "(.+)"$`).FindAllStringSubmatch(string(source), -1)
	require.NotEmpty(t, named)
	for _, problem := range named {
		if problem[1] != ProblemInterrupted { // the result of an interrupted attempt is not stored
			require.NotEmpty(t, Meaning(problem[1]), problem[1])
		}
	}
	for status := 300; status < 600; status++ {
		require.NotEmpty(t, Meaning(statusProblem(status)), status)
	}
	require.Empty(t, Meaning("signing secret cannot be read"))
}
