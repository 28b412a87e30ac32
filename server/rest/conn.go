package rest

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/ratelimit"
)

// Listen returns the listener with connections whose every HTTP/1 answer is in the shape of the
// service. A request that net/http cannot read never reaches a handler: the server writes a bare
// text answer to the connection and closes it. Such an answer is recognised by its exact bytes
// and replaced. A listener for TLS must be wrapped around the one returned, not the other way.
func (e *Edge) Listen(l net.Listener) net.Listener { return &listener{Listener: l, edge: e} }

type listener struct {
	net.Listener
	edge *Edge
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, edge: l.edge}, nil
}

// conn watches what net/http writes to one connection.
type conn struct {
	net.Conn
	edge *Edge
}

// Write sends the bytes, or, when they are an answer of net/http's own, the service's answer in
// their place.
func (c *conn) Write(p []byte) (int, error) {
	message, ok := bareAnswer(p)
	if !ok {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(c.answer(message)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite ends the sending half, as the server does so that an answer is read before the
// connection is closed under a client that still sends.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// bareAnswers are the answers that net/http writes before any handler runs, each in one write, by
// status line, with what ours says instead. The text after the headers repeats the status line,
// but for the transfer coding; see (*conn).serve of net/http in Go 1.26.
var bareAnswers = []struct{ line, text, message string }{
	{"400 Bad Request", "400 Bad Request", messageMalformed},
	{"431 Request Header Fields Too Large", "431 Request Header Fields Too Large", "The request's headers are too large."},
	{"501 Not Implemented", "Unsupported transfer encoding", "The body's Transfer-Encoding is not supported; use chunked or Content-Length."},
	{"400 Bad Request: missing required Host header", "400 Bad Request: missing required Host header", "The request has no Host header."},
	{"400 Bad Request: malformed Host header", "400 Bad Request: malformed Host header", "The request's Host header is malformed."},
	{"400 Bad Request: invalid header name", "400 Bad Request: invalid header name", messageMalformed},
	{"400 Bad Request: invalid header value", "400 Bad Request: invalid header value", messageMalformed},
	{"505 HTTP Version Not Supported: unsupported protocol version", "505 HTTP Version Not Supported: unsupported protocol version", "The request is of an HTTP version that is not supported."},
}

const (
	messageMalformed   = "The request is not well-formed HTTP."
	messageExpectation = "The request's Expect header asks for what is not supported."

	bareHead        = "HTTP/1.1 "
	bareHeaders     = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	bareExpectation = "417 Expectation Failed\r\n"
	maxBareBytes    = 512
)

// bareAnswer tells whether the bytes of one write are an answer that net/http made on its own,
// and what to say instead. Only a whole answer matches: a body of ours cannot be taken for one,
// for no JSON has a carriage return in it, nor has any stored text.
func bareAnswer(p []byte) (message string, ok bool) {
	if len(p) > maxBareBytes || len(p) < len(bareHead)+3 || p[0] != 'H' || (p[len(bareHead)] != '4' && p[len(bareHead)] != '5') {
		return "", false
	}
	rest, ok := bytes.CutPrefix(p, []byte(bareHead))
	if !ok {
		// The one answer in the client's own version.
		if rest, ok = bytes.CutPrefix(p, []byte("HTTP/1.0 ")); !ok || !bytes.HasPrefix(rest, []byte(bareExpectation)) {
			return "", false
		}
	}
	if bytes.HasPrefix(rest, []byte(bareExpectation)) && bytes.HasSuffix(rest, []byte("\r\n\r\n")) {
		return messageExpectation, true
	}
	line, text, ok := bytes.Cut(rest, []byte(bareHeaders))
	if !ok {
		return "", false
	}
	for _, a := range bareAnswers {
		if string(line) == a.line && string(text) == a.text {
			return a.message, true
		}
	}
	return "", false
}

// answer is the whole answer to a request that could not be read, and logs it. Whatever was wrong
// with it is 400 validation_failed: the specification has no other code for it, and a client's
// mistake is never a 5xx.
func (c *conn) answer(message string) []byte {
	e, now := c.edge, c.edge.config.Now()
	r, id, rate := apierr.Invalid(message), uuid.NewString(), ratelimit.Free(now)
	body := appendError(nil, r, id, now)

	b := make([]byte, 0, 512+len(body))
	b = append(b, bareHead...)
	b = strconv.AppendInt(b, int64(r.Status()), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(r.Status())...)
	for _, h := range [...][2]string{
		{"Content-Type", contentTypeJSON[0]},
		{"Content-Length", strconv.Itoa(len(body))},
		{"Date", now.UTC().Format(http.TimeFormat)},
		{"Connection", "close"},
		{headerRequestID, id},
		{headerLimit, strconv.Itoa(rate.Limit)},
		{headerRemaining, strconv.Itoa(rate.Remaining)},
		{headerReset, strconv.Itoa(seconds(rate.Reset))},
	} {
		b = append(b, "\r\n"+h[0]+": "+h[1]...)
	}
	b = append(b, "\r\n\r\n"...)

	address := parseAddress(c.RemoteAddr().String())
	e.config.Logger.Info("request",
		slog.String("request_id", id), slog.String("face", string(FaceNone)), slog.String("route", unmatched),
		slog.Int("status", r.Status()), slog.String("code", string(r.Code)), slog.String("address", address.String()))
	e.guardEnd(&exchange{id: [1]string{id}}, func() {
		e.observe(Request{Face: FaceNone, Method: "OTHER", Route: unmatched, Status: r.Status(), Code: string(r.Code)})
	})
	return append(b, body...)
}
