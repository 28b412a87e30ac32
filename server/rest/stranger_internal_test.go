package rest

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"go.storefront.example/server/message"
)

const openProcedure = "/open.Service/Call"

// stranger is a connection on HTTP/2 that grants no room for any body.
type stranger struct {
	t      *testing.T
	frames *http2.Framer
	block  bytes.Buffer
	next   uint32
}

// visit connects a stranger to the server of a new edge, which has one open procedure.
func visit(t *testing.T) (*Edge, *stranger) {
	t.Helper()
	e, err := New(Config{
		Logger: slog.New(slog.DiscardHandler), Now: time.Now, Unreachable: func(error) bool { return false },
		Services: func(...connect.HandlerOption) []Service { return nil },
		Public: func(OpenOptions) []Open {
			return []Open{{Procedure: openProcedure, Kind: message.Unary, Handler: http.NotFoundHandler()}}
		},
	})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := e.Server()
	go func() { _ = server.Serve(e.Listen(l)) }()
	t.Cleanup(func() { _ = server.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = c.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	s := &stranger{t: t, frames: http2.NewFramer(c, c), next: 1}
	require.NoError(t, s.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	return e, s
}

// ask sends the headers of a request, and returns its stream.
func (s *stranger) ask(method, path string) uint32 {
	s.t.Helper()
	s.block.Reset()
	encoder := hpack.NewEncoder(&s.block)
	encoder.SetMaxDynamicTableSize(0)
	for _, f := range [][2]string{{":method", method}, {":scheme", "http"}, {":authority", "x"}, {":path", path}, {"content-type", "application/json"}} {
		require.NoError(s.t, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	stream := s.next
	s.next += 2
	require.NoError(s.t, s.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: s.block.Bytes(), EndHeaders: true, EndStream: method == http.MethodGet}))
	return stream
}

// await reads until it has seen so many frames of a type, and returns their streams.
func (s *stranger) await(kind http2.FrameType, number int) (streams []uint32) {
	s.t.Helper()
	for len(streams) < number {
		frame, err := s.frames.ReadFrame()
		require.NoError(s.t, err)
		if frame.Header().Type == kind {
			streams = append(streams, frame.Header().StreamID)
		}
	}
	return streams
}

// A refusal that waits for its reader counts for as long as it waits: it keeps its goroutine and its request.
func TestUnreadRefusalsCountUntilTheyAreRead(t *testing.T) {
	t.Parallel()
	e, s := visit(t)
	for range 20 {
		s.ask(http.MethodGet, "/nothing")
	}
	s.await(http2.FrameHeaders, 20)
	require.EqualValues(t, 20, e.strangers.Load())
	require.NoError(t, s.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 10}))
	require.Eventually(t, func() bool { return e.strangers.Load() == 0 }, time.Minute, time.Millisecond)
}

// Among too many strangers, neither a refusal waits long for its reader nor the server for a message.
func TestManyStrangersAreHurried(t *testing.T) {
	t.Parallel()
	e, s := visit(t)
	s.ask(http.MethodGet, "/nothing")
	s.await(http2.FrameHeaders, 1) // it waits openReadTime
	e.strangers.Add(maxStrangers)
	late := []uint32{s.ask(http.MethodGet, "/nothing"), s.ask(http.MethodPost, openProcedure)}
	require.ElementsMatch(t, late, s.await(http2.FrameRSTStream, len(late)))
}
