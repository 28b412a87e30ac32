package edge_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

// raw sends bytes on a new connection and reads one answer.
func (w *world) raw(t *testing.T, request string) answer {
	t.Helper()
	c, err := net.Dial("tcp", w.addr)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, request)
	require.NoError(t, err)
	text, err := io.ReadAll(c)
	if len(text) == 0 {
		require.NoError(t, err)
	}
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(text))), nil)
	require.NoError(t, err, "%q", text)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err, "%q", text)
	if res.Close {
		res.Header.Set("Connection", "close") // ReadResponse has removed this header
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

// net/http itself answers malformed HTTP and headers that are too large, in plain text.
func TestRequestsThatAreNotHTTP(t *testing.T) {
	t.Parallel()
	w := start(t)
	for reason, row := range map[string]struct {
		request string
		status  int
	}{
		"no request line":          {"this is rubbish\r\n\r\n", 400},
		"bad escape in the path":   {"GET /v1/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"a header without a colon": {"GET /v1/store HTTP/1.1\r\nHost: x\r\nrubbish\r\n\r\n", 400},
		"no host":                  {"GET /v1/store HTTP/1.1\r\n\r\n", 400},
		"a length that is none":    {"POST /v1/customers HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", 400},
		"headers larger than about 64 KiB": {"GET /v1/store HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a",
			edge.MaxHeaderBytes+8<<10) + "\r\n\r\n", 431},
	} {
		a := w.raw(t, row.request)
		require.Equal(t, row.status, a.status, reason)
		require.Equal(t, "text/plain; charset=utf-8", a.header.Get("Content-Type"), reason)
		require.Equal(t, "close", a.header.Get("Connection"), reason)
	}
	require.Empty(t, w.requests())
}

func TestRequestsThatAreOddHTTP(t *testing.T) {
	t.Parallel()
	w := start(t)
	key := "Authorization: Bearer full\r\nConnection: close\r\n"
	requireProblem(t, w.raw(t, "OPTIONS * HTTP/1.1\r\nHost: x\r\n"+key+"\r\n"), 404, apierr.NotFound, "", "Connection")
	requireProblem(t, w.raw(t, "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n"+key+"\r\n"), 404, apierr.NotFound, "", "Connection")
	requireProblem(t, w.raw(t, "POST /v1/customers HTTP/1.1\r\nHost: x\r\n"+key+
		"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), 400, apierr.ValidationFailed, `{"fields":[]}`,
		"Connection")
	requireProblem(t, w.raw(t, "POST /v1/customers HTTP/1.1\r\nHost: x\r\n"+key+
		"Content-Type: application/json\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"), 415,
		apierr.UnsupportedMediaType, "", "Connection")
	requireProblem(t, w.raw(t, "POST /v1/customers HTTP/1.1\r\nHost: x\r\n"+key+
		"Content-Type: application/json\r\nContent-Length: 9999999\r\nExpect: 100-continue\r\n\r\n"), 413, apierr.PayloadTooLarge, "",
		"Connection")
	absolute := w.raw(t, "GET http://x/v1/store HTTP/1.1\r\nHost: x\r\n"+key+"\r\n")
	require.Equal(t, 200, absolute.status)
	old := w.raw(t, "GET /v1/store HTTP/1.0\r\n"+key+"\r\n")
	require.Equal(t, 200, old.status)
	requireHeaders(t, old, "Connection")
}

// HTTP/1 clients see the specification's spelling.
func TestHeaderSpelling(t *testing.T) {
	t.Parallel()
	w := start(t)
	c, err := net.Dial("tcp", w.addr)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, "GET /v1/store HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	text, err := io.ReadAll(c)
	require.NoError(t, err)
	for _, line := range []string{
		"\r\nX-RateLimit-Limit: 120\r\n", "\r\nX-RateLimit-Remaining: 120\r\n", "\r\nX-RateLimit-Reset: 42\r\n", "\r\nX-Request-Id: ",
		"\r\nWWW-Authenticate: Bearer realm=\"Service API\"\r\n", "\r\nContent-Type: application/json\r\n",
	} {
		require.Contains(t, string(text), line)
	}
}
