package rest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/ratelimit"
)

// Listen wraps a listener so that every HTTP/1 answer on its connections has the service's form. A
// request that net/http cannot read never reaches a handler: the server writes a bare text answer
// and closes the connection. Such an answer is recognised by its exact bytes and replaced. Wrap a
// TLS listener around the returned one, not the other way round.
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
	return &conn{Conn: c, edge: l.edge, in: inbound{waiting: true}}, nil
}

// conn inspects what net/http reads from and writes to one connection.
type conn struct {
	net.Conn
	edge *Edge
	peer netip.Addr // once it is asked for
	in   inbound
}

// Write sends the bytes, or, if they are an answer of net/http itself, the service's answer
// instead.
func (c *conn) Write(p []byte) (int, error) {
	message, ok := bareAnswer(p)
	if !ok {
		return c.Conn.Write(p)
	}
	refusal := apierr.Invalid(message)
	if message == messageHeaders {
		refusal = headersTooLarge()
	}
	if _, err := c.Conn.Write(c.answer(&exchange{incoming: &http.Request{}, start: time.Now(), protocol: ProtocolNone, route: unmatched}, refusal)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite closes the sending half. The server does that so that a client that is still sending
// can read the answer before the connection closes.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// bareAnswers are the answers that net/http writes before any handler runs, each in one write: by
// status line, with our message. The text after the headers repeats the status line, except for the
// transfer coding; see (*conn).serve of net/http in Go 1.26.
var bareAnswers = map[string]string{
	"400 Bad Request":                                              messageMalformed,
	"400 Bad Request: invalid header name":                         messageMalformed,
	"400 Bad Request: invalid header value":                        messageMalformed,
	"400 Bad Request: malformed Host header":                       "The request's Host header is malformed.",
	"400 Bad Request: missing required Host header":                "The request has no Host header.",
	"431 Request Header Fields Too Large":                          messageHeaders,
	"501 Not Implemented":                                          "The body's Transfer-Encoding is not supported; use chunked or Content-Length.",
	"505 HTTP Version Not Supported: unsupported protocol version": "The request is of an HTTP version that is not supported.",
}

const (
	messageMalformed   = "The request is not well-formed HTTP."
	messageHeaders     = "The request's headers are larger than 64 KiB."
	messageExpectation = "The request's Expect header asks for what is not supported."

	bareHead           = "HTTP/1.1 "
	bareHeaders        = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	bareCoding         = "Unsupported transfer encoding"
	bareExpectation    = "417 Expectation Failed\r\n"
	bareExpectationOld = "HTTP/1.0 " + bareExpectation
	maxBareBytes       = 512
)

// bareAnswer reports whether the bytes of one write are an answer of net/http itself, and returns
// our message for it. Only a whole answer matches. Our own bodies cannot match, because neither our
// JSON nor any stored text contains a carriage return.
func bareAnswer(p []byte) (message string, ok bool) {
	rest, current := bytes.CutPrefix(p, []byte(bareHead))
	old := !current && bytes.HasPrefix(p, []byte(bareExpectationOld)) // the one answer in the client's own version
	if len(p) > maxBareBytes || !current && !old {
		return "", false
	}
	if (old || bytes.HasPrefix(rest, []byte(bareExpectation))) && bytes.HasSuffix(p, []byte("\r\n\r\n")) {
		return messageExpectation, true
	}
	line, text, ok := bytes.Cut(rest, []byte(bareHeaders))
	if !ok || string(text) != bareCoding && !bytes.Equal(text, line) {
		return "", false
	}
	message, ok = bareAnswers[string(line)]
	return message, ok
}

// answer returns the whole answer to a request that net/http has not read, and logs it. The exchange has what is known
// of the request. The connection closes after it.
func (c *conn) answer(x *exchange, refusal *apierr.Refusal) []byte {
	x.address = parseAddress(c.RemoteAddr().String())
	text := c.edge.text(x, refusal)
	c.edge.finish(x, x.incoming)
	return text
}

// text returns the whole answer to a request that net/http has not read. The connection closes after it, unless the
// request is shed.
func (e *Edge) text(x *exchange, refusal *apierr.Refusal) []byte {
	w := &unread{header: http.Header{"Date": {e.config.Now().UTC().Format(http.TimeFormat)}}}
	if !x.shed {
		w.header["Connection"] = []string{"close"}
	}
	x.writer, x.edge = w, e
	x.setID()
	x.setRate(ratelimit.Uncounted(e.config.Now()))
	e.refuse(x, x.incoming, refusal)
	var b bytes.Buffer
	b.Grow(1 << 10)
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", w.status, http.StatusText(w.status))
	_ = w.header.Write(&b) // to memory
	b.WriteString("\r\n")
	b.Write(w.body)
	return b.Bytes()
}

// unread is the writer of an answer to a request that net/http has not read.
type unread struct {
	header http.Header
	status int
	body   []byte
}

// Header returns the headers of the answer.
func (w *unread) Header() http.Header { return w.header }

// WriteHeader sets the status.
func (w *unread) WriteHeader(status int) { w.status = status }

// Write sets the body.
func (w *unread) Write(p []byte) (int, error) {
	w.body = p
	return len(p), nil
}
