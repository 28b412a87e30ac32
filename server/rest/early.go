package rest

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
)

const (
	// earlyPause is how long an early refusal waits before it is sent. A client that asks again at once, in
	// spite of Retry-After, does so less often then; one that gives up after 100 ms still gets it, and keeps its
	// connection, which costs both sides more than the answer.
	earlyPause = 50 * time.Millisecond
	// earlyWrite bounds how long its client may take to make room for it.
	earlyWrite = time.Second
	// earlyBytes is the size of the largest request that is refused early.
	earlyBytes = 4 << 10
)

// inbound follows the requests on an HTTP/1 connection as its bytes have them, so that a refusal can be sent before
// net/http reads the request, which costs several times as much. It knows where a request begins as long as each
// arrives whole, in one read, and after the answer to the one before. From the first that does not, net/http alone
// reads the connection. TLS, HTTP/2 and upgrades are such from the start.
type inbound struct {
	// waiting is set while net/http waits for a request, lost once it is not known where one begins.
	waiting, lost bool
	// first is the first byte of a request that net/http has taken while it wrote the answer before, else 0.
	first byte
	// ahead are bytes that net/http has not asked for yet. At first it asks for those alone that tell HTTP/2.
	ahead []byte
}

// Read reads for net/http. It answers requests that would wait for a slot in vain.
func (c *conn) Read(p []byte) (int, error) {
	in := &c.in
	switch {
	case len(in.ahead) > 0:
		n := copy(p, in.ahead)
		in.ahead = in.ahead[n:]
		return n, nil
	case in.lost:
		return c.Conn.Read(p)
	case len(p) == 1: // net/http looks whether the client is still there
		n, err := c.Conn.Read(p)
		if n == 1 {
			in.lost = in.first != 0
			in.first = p[0]
		}
		return n, err
	case len(p) < earlyBytes/2:
		p, full := make([]byte, earlyBytes), p
		n, err := c.readRequest(p)
		taken := copy(full, p[:n])
		in.ahead = p[taken:n]
		return taken, err
	}
	return c.readRequest(p)
}

// readRequest reads the next bytes that are not an early refused request.
func (c *conn) readRequest(p []byte) (int, error) {
	in := &c.in
	for {
		n, err := c.Conn.Read(p)
		if n == 0 || err != nil {
			return n, err
		}
		begun := in.first != 0 // net/http has its first byte
		r, whole := wholeRequest(in.first, p[:n])
		in.lost = !whole || !begun && !in.waiting
		in.first, in.waiting = 0, false
		if in.lost || begun {
			return n, nil
		}
		refused, err := c.refuseEarly(r, p)
		if err != nil {
			return 0, err
		}
		if !refused {
			return n, nil
		}
		in.waiting = true
	}
}

// refuseEarly refuses a request under /v1 if it would wait for a slot in vain. The answer takes the place of the
// request in memory.
func (c *conn) refuseEarly(r rawRequest, memory []byte) (bool, error) {
	e := c.edge
	if !r.underV1() || r.authorization == nil || !e.early.TryRLock() {
		return false, nil
	}
	defer e.early.RUnlock()
	refusal := e.door.turnAway(r.authorization)
	if refusal == nil {
		return false, nil
	}
	x := &exchange{
		incoming: &http.Request{Method: knownMethod(string(r.method))}, start: time.Now(), protocol: ProtocolREST, shed: true,
	}
	x.route = e.templateOf(x.incoming.Method, string(r.path))
	time.Sleep(earlyPause)
	answer := c.earlyAnswer(memory[:0:len(memory)], x, refusal)
	now := time.Now()
	if err := c.SetReadDeadline(now.Add(IdleTimeout)); err != nil { // net/http's is that of the last answer
		return false, err
	}
	if err := c.SetWriteDeadline(now.Add(earlyWrite)); err != nil {
		return false, err
	}
	_, err := c.Conn.Write(answer)
	return true, err
}

// earlyAnswer appends the whole answer to a request that is refused early, and logs it.
func (c *conn) earlyAnswer(to []byte, x *exchange, refusal *apierr.Refusal) []byte {
	e, now := c.edge, c.edge.config.Now()
	if !c.peer.IsValid() {
		c.peer = parseAddress(c.RemoteAddr().String())
	}
	x.edge, x.address, x.refusal, x.status = e, c.peer, refusal, refusal.Status()
	x.newID()
	f := e.earlyForm.Load()
	if f == nil || f.second != now.Unix() {
		f = e.newEarlyForm(refusal, now)
		e.earlyForm.Store(f)
	}
	e.finish(x, x.incoming)
	return f.copyTo(to, x, now)
}

// earlyForm is an answer to a request that is refused early. It is written as any other, once a second; its copies get their
// own identifier and time, which costs a fraction.
type earlyForm struct {
	second     int64
	head, body []byte
	idInHead   int
	idInBody   int
	timestamp  int
}

func (e *Edge) newEarlyForm(refusal *apierr.Refusal, now time.Time) *earlyForm {
	x := &exchange{incoming: &http.Request{}, protocol: ProtocolREST, shed: true}
	text := e.text(x, refusal)
	head := bytes.Index(text, []byte("\r\n\r\n")) + len("\r\n\r\n")
	f := &earlyForm{second: now.Unix(), head: text[:head], body: text[head:]}
	const before = `"timestamp":`
	f.idInHead, f.idInBody = bytes.Index(f.head, []byte(x.id[0])), bytes.Index(f.body, []byte(x.id[0]))
	f.timestamp = bytes.LastIndex(f.body, []byte(before)) + len(before)
	return f
}

// copyTo appends a copy for a request.
func (f *earlyForm) copyTo(to []byte, x *exchange, now time.Time) []byte {
	to = append(to, f.head...)
	body := len(to)
	copy(to[body-len(f.head)+f.idInHead:], x.id[0])
	if x.incoming.Method == http.MethodHead {
		return to
	}
	to = append(to, f.body...)
	copy(to[body+f.idInBody:], x.id[0])
	wire.AppendTime(to[:body+f.timestamp], now) // in place: it is always as long
	return to
}

// EndEarly ends the refusals that are sent before a request is read, and waits for those under way: the server
// stops, and answers close their connections.
func (e *Edge) EndEarly() { e.early.Lock() }

// Note is an http.Server's ConnState. It tells a connection that its answer has been sent.
func (e *Edge) Note(nc net.Conn, state http.ConnState) {
	if state != http.StateIdle {
		return
	}
	if outer, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = outer.NetConn()
	}
	if c, ok := nc.(*conn); ok {
		c.in.waiting = true
	}
}

// rawRequest is a request as its bytes have it.
type rawRequest struct{ method, path, authorization []byte }

func (r rawRequest) underV1() bool { return bytes.HasPrefix(r.path, []byte("/v1/")) }

// wholeRequest reports whether bytes, after the first one if that was taken already, are exactly one HTTP/1.1 request
// with its body, after which the connection stays open. It knows only the plainest form of a request, so that net/http
// and any proxy before it see the same end of it: RFC 9112, section 11.2.
func wholeRequest(first byte, p []byte) (r rawRequest, whole bool) {
	line, rest, _ := bytes.Cut(p, []byte("\r\n"))
	target, current := bytes.CutSuffix(line, []byte(" HTTP/1.1"))
	method, target, _ := bytes.Cut(target, []byte(" "))
	if !current || len(target) == 0 || target[0] != '/' || !visible(target) || !token(method) && (first == 0 || len(method) > 0) {
		return r, false
	}
	r.method = method
	r.path, _, _ = bytes.Cut(target, []byte("?"))
	length := -1
	for {
		line, after, ended := bytes.Cut(rest, []byte("\r\n"))
		if !ended {
			return r, false
		}
		if rest = after; len(line) == 0 {
			return r, len(rest) == max(length, 0)
		}
		name, value, field := bytes.Cut(line, []byte(":"))
		value = bytes.Trim(value, " \t")
		if !field || !token(name) || !text(value) {
			return r, false
		}
		switch {
		case is(name, "Authorization"):
			if r.authorization != nil {
				return r, false
			}
			r.authorization = value
		case is(name, "Content-Length"):
			n, err := strconv.ParseUint(string(value), 10, 16)
			if err != nil || length >= 0 {
				return r, false
			}
			length = int(n)
		case is(name, "Connection"):
			if !is(value, "keep-alive") {
				return r, false
			}
		case is(name, "Transfer-Encoding"), is(name, "Upgrade"), is(name, "Expect"):
			return r, false
		}
	}
}

func is(name []byte, want string) bool {
	return len(name) == len(want) && bytes.EqualFold(name, []byte(want))
}

// token reports whether bytes are a name: letters, digits and hyphens.
func token(p []byte) bool {
	for _, b := range p {
		if (b|0x20 < 'a' || b|0x20 > 'z') && (b < '0' || b > '9') && b != '-' {
			return false
		}
	}
	return len(p) > 0
}

// text reports whether bytes have no control characters but tabs.
func text(p []byte) bool {
	for _, b := range p {
		if b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// visible reports whether bytes are visible ASCII.
func visible(p []byte) bool {
	for _, b := range p {
		if b <= ' ' || b >= 0x7f {
			return false
		}
	}
	return true
}
