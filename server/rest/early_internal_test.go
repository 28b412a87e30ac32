package rest

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

const plainHead = "GET /v1/store HTTP/1.1\r\nHost: x\r\n"

func TestWholeRequests(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{
		plainHead + "\r\n",
		plainHead + "authorization: Bearer x\r\nConnection: Keep-Alive\r\nAccept:\r\n\r\n",
		"POST /v1/customers?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"GET /other HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
	} {
		_, ok := wholeRequest(0, []byte(whole))
		require.True(t, ok, "%q", whole)
		_, ok = wholeRequest(whole[0], []byte(whole[1:]))
		require.True(t, ok, "the same after its first byte: %q", whole)
	}
	for _, other := range []string{
		"", "GET", "G", plainHead, plainHead + "Accept: x\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		plainHead + "\r\n" + plainHead + "\r\n",
		"GET /v1/store HTTP/1.0\r\nHost: x\r\n\r\n",
		"GET  /v1/store HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://x/v1/store HTTP/1.1\r\nHost: x\r\n\r\n",
		" GET /v1/store HTTP/1.1\r\nHost: x\r\n\r\n",
		plainHead + "Connection: close\r\n\r\n",
		plainHead + "Connection: keep-alive, upgrade\r\n\r\n",
		plainHead + "Upgrade: h2c\r\n\r\n",
		plainHead + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
		plainHead + "Transfer-Encoding: chunked\r\n\r\n",
		plainHead + "Transfer-Encoding : chunked\r\n\r\n",
		plainHead + "Transfer-Encoding\t: chunked\r\n\r\n",
		plainHead + "A: b\nTransfer-Encoding: chunked\r\n\r\n",
		plainHead + "A: b\rTransfer-Encoding: chunked\r\n\r\n",
		plainHead + "A: b\r\n Transfer-Encoding: chunked\r\n\r\n",
		plainHead + "Content-Length: 2\r\n\r\n{",
		plainHead + "Content-Length: 2\r\n\r\n{}x",
		plainHead + "Content-Length: 0\r\nContent-Length: 2\r\n\r\n{}",
		plainHead + "Content-Length: 2, 2\r\n\r\n{}",
		plainHead + "Content-Length: +2\r\n\r\n{}",
		plainHead + "Content-Length: 0x2\r\n\r\n{}",
		plainHead + "Content-Length:\r\n\r\n{}",
		plainHead + "Authorization: a\r\nAuthorization: b\r\n\r\n",
		plainHead + "rubbish\r\n\r\n",
	} {
		_, ok := wholeRequest(0, []byte(other))
		require.False(t, ok, "%q", other)
	}
}

// What counts as one whole request is one for net/http too, and nothing follows it.
func FuzzWholeRequest(f *testing.F) {
	f.Add([]byte(plainHead + "Authorization: Bearer x\r\n\r\n"))
	f.Add([]byte("POST /v1/customers HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte(plainHead + "Transfer-Encoding : chunked\r\n\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, ok := wholeRequest(0, p)
		if !ok {
			return
		}
		_, after := wholeRequest(p[0], p[1:])
		require.True(t, after)
		from := bufio.NewReader(bytes.NewReader(p))
		read, err := http.ReadRequest(from)
		if err != nil {
			return // net/http refuses it, and closes the connection
		}
		require.False(t, read.Close)
		require.Empty(t, read.TransferEncoding)
		_, err = io.Copy(io.Discard, read.Body)
		require.NoError(t, err)
		_, err = from.ReadByte()
		require.ErrorIs(t, err, io.EOF, "nothing follows")
		require.Equal(t, read.Method, string(r.method))
		require.Equal(t, read.Header.Get("Authorization"), string(r.authorization))
		require.Equal(t, len(read.Header["Authorization"]), min(len(r.authorization)+len(read.Header["Authorization"]), 1))
	})
}

type visitor struct{ net.Conn }

func (visitor) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000} }

// earlyEdge returns an edge that only refuses, by a clock, and a connection of it.
func earlyEdge(t testing.TB, now func() time.Time) *conn {
	t.Helper()
	e, err := New(Config{
		Services: func(opts ...connect.HandlerOption) []Service {
			products, p := storefrontv1connect.NewProductServiceHandler(storefrontv1connect.UnimplementedProductServiceHandler{}, opts...)
			orders, o := storefrontv1connect.NewOrderServiceHandler(storefrontv1connect.UnimplementedOrderServiceHandler{}, opts...)
			return []Service{{products, p}, {orders, o}}
		},
		Logger: slog.New(slog.DiscardHandler), Unreachable: func(error) bool { return false }, Now: now,
	})
	require.NoError(t, err)
	return &conn{Conn: visitor{}, edge: e}
}

func earlyExchange(method string) *exchange {
	return &exchange{incoming: &http.Request{Method: method}, start: time.Now(), protocol: ProtocolREST, route: unmatched, shed: true}
}

// An early refusal, made from a form, is to the byte what is written without one.
func TestEarlyRefusalsAreWrittenAsAnyOther(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 10, 59, 58, int(7*time.Millisecond), time.UTC)
	c := earlyEdge(t, func() time.Time { return now })
	seen := map[string]bool{}
	for range 40 {
		now = now.Add(333 * time.Millisecond)
		early, usual := earlyExchange("GET"), earlyExchange("GET")
		want, got := c.edge.text(usual, tooMany()), c.earlyAnswer(nil, early, tooMany())
		require.Equal(t, string(bytes.ReplaceAll(want, []byte(usual.id[0]), []byte(early.id[0]))), string(got))
		require.False(t, seen[early.id[0]])
		seen[early.id[0]] = true
		head := earlyExchange("HEAD")
		require.Equal(t, bytes.Index(got, []byte("\r\n\r\n"))+4, len(c.earlyAnswer(nil, head, tooMany())))
	}
}

// BenchmarkEarlyRefusal measures what an early refusal costs beside its read and its write.
func BenchmarkEarlyRefusal(b *testing.B) {
	c := earlyEdge(b, time.Now)
	request, memory := []byte(plainHead+"Accept: application/json\r\nAuthorization: Bearer x\r\n\r\n"), make([]byte, earlyBytes)
	b.ReportAllocs()
	for b.Loop() {
		r, whole := wholeRequest(0, request)
		require.True(b, whole)
		x := earlyExchange(string(r.method))
		x.route = c.edge.templateOf(x.incoming.Method, string(r.path))
		c.earlyAnswer(memory[:0], x, tooMany())
	}
}
