package server

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"go.storefront.example/server/docs"
	"go.storefront.example/server/rest"
	"go.storefront.example/server/route"
)

// While many answers of the reference wait for their readers, those after them do not wait long, large or small.
func TestManyUnreadPagesOfTheReferenceAreDropped(t *testing.T) {
	t.Parallel()
	s := &http.Server{
		Handler: withDocs(func(next http.Handler) guard {
			return guard{slog.New(slog.DiscardHandler), time.Now, next, time.Minute}
		},
			route.List(http.NotFoundHandler(), nil).(route.Lister)),
		Protocols: new(http.Protocols), HTTP2: rest.HTTP2(),
	}
	s.Protocols.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	visit := func() (read, ask func() uint32) {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Second)))
		_, err = io.WriteString(c, http2.ClientPreface)
		require.NoError(t, err)
		frames, next := http2.NewFramer(c, c), uint32(1)
		require.NoError(t, frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
		read = func() uint32 {
			for {
				frame, err := frames.ReadFrame()
				require.NoError(t, err)
				switch frame.(type) {
				case *http2.HeadersFrame:
					return 0
				case *http2.RSTStreamFrame:
					return frame.Header().StreamID
				}
			}
		}
		ask = func() uint32 {
			var block bytes.Buffer
			encoder := hpack.NewEncoder(&block)
			path := []string{docs.Path, docs.Path + "/nothing"}[next/2%2]
			for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", path}, {"accept", "*/*"}} {
				require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
			}
			require.NoError(t, frames.WriteHeaders(http2.HeadersFrameParam{StreamID: next, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true}))
			next += 2
			return next - 2
		}
		return read, ask
	}
	read, ask := visit()
	for range maxReaders {
		ask()
		require.Zero(t, read())
	}
	read, ask = visit()
	late := []uint32{ask(), ask()}
	require.Zero(t, read())
	require.Zero(t, read())
	require.ElementsMatch(t, late, []uint32{read(), read()})
}
