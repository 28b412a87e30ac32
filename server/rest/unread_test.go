package rest_test

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Refusals, and answers that need no key, that a client on HTTP/2 grants no room are dropped long before the
// WriteTimeout: each keeps a goroutine and its request.
func TestRefusalsThatNobodyReadsAreDropped(t *testing.T) {
	t.Parallel()
	w := start(t)
	c, err := net.Dial("tcp", w.addr)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	frames := http2.NewFramer(c, c)
	require.NoError(t, frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	const key = "Bearer " + fullKey
	requests := []struct{ method, path, authorization, body string }{
		{"GET", "/nothing", "", ""},
		{"GET", "/v1/store", "", ""},
		{"GET", "/v1/nothing", key, ""},
		{"POST", updateProduct, "", "{}"},
		{"POST", healthCheck, "", "{}"},
	}
	open := map[uint32]bool{}
	for i, r := range requests {
		block.Reset()
		for _, f := range [][2]string{
			{":method", r.method}, {":scheme", "http"}, {":authority", w.addr}, {":path", r.path},
			{"content-type", "application/json"}, {"authorization", r.authorization},
		} {
			if f[1] != "" {
				require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
			}
		}
		stream := uint32(2*i + 1)
		open[stream] = true
		require.NoError(t, frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: r.body == ""}))
		if r.body != "" {
			require.NoError(t, frames.WriteData(stream, true, []byte(r.body)))
		}
	}
	require.NoError(t, c.SetReadDeadline(time.Now().Add(30*time.Second)))
	for len(open) > 0 {
		frame, err := frames.ReadFrame()
		require.NoError(t, err, "still open: %v", open)
		switch f := frame.(type) {
		case *http2.RSTStreamFrame:
			delete(open, f.StreamID)
		case *http2.SettingsFrame:
			if !f.IsAck() {
				require.NoError(t, frames.WriteSettingsAck())
			}
		}
	}
}
