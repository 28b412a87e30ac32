package rest

import (
	"bytes"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only a whole answer of net/http itself matches.
func FuzzBareAnswer(f *testing.F) {
	for line := range bareAnswers {
		f.Add([]byte(bareHead + line + bareHeaders + line))
	}
	f.Add([]byte(bareHead + "501 Not Implemented" + bareHeaders + bareCoding))
	f.Add([]byte("HTTP/1.0 417 Expectation Failed\r\nConnection: close\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n{}"))
	f.Fuzz(func(t *testing.T, written []byte) {
		message, ok := bareAnswer(written)
		require.Equal(t, ok, message != "")
		if ok {
			require.True(t, bytes.HasPrefix(written, []byte("HTTP/1.")))
			require.LessOrEqual(t, len(written), maxBareBytes)
			require.False(t, bytes.Contains(written, []byte("{")) && !bytes.Contains(written, []byte(" 417 ")), "%q", written)
		}
	})
}

// A forwarded address is valid and plain, or the peer's; only trusted peers may forward.
func FuzzForwarded(f *testing.F) {
	f.Add("203.0.113.9, 10.0.0.1", "10.0.0.2:1234", true)
	f.Add("[2001:db8::1]:443,::ffff:192.0.2.1", "[::1]:1", true)
	f.Add("fe80::1%eth0,,, ,", "10.0.0.2", false)
	f.Fuzz(func(t *testing.T, header, peer string, trust bool) {
		e := &Edge{}
		if trust {
			e.config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
		}
		lines := strings.Split(header, "\n")
		got := e.address(&http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": lines}})
		require.Empty(t, got.Zone())
		require.False(t, got.Is4In6())
		if !trust || !e.trusted(parseAddress(peer)) {
			require.Equal(t, parseAddress(peer), got)
		}
	})
}
