package rest_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/rest"
)

// raw sends bytes on a new connection and reads the one answer.
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
		res.Header.Set("Connection", "close") // where ReadResponse takes it from
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

func TestRequestsThatAreNotHTTP(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, row := range []struct{ reason, request, message string }{
		{"no request line", "this is rubbish\r\n\r\n", "well-formed"},
		{"no version", "GET /v1/store\r\n\r\n", "well-formed"},
		{"bad escape in the path", "GET /v1/%zz HTTP/1.1\r\nHost: x\r\n\r\n", "well-formed"},
		{"a method that is no token", "G@T( /v1/store HTTP/1.1\r\nHost: x\r\n\r\n", "well-formed"},
		{"a header without a colon", "GET /v1/store HTTP/1.1\r\nHost: x\r\nrubbish\r\n\r\n", "well-formed"},
		{"a header's name that is none", "GET /v1/store HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n", "well-formed"},
		{"a header's value with a control character", "GET /v1/store HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n", "well-formed"},
		{"no host", "GET /v1/store HTTP/1.1\r\n\r\n", "no Host"},
		{"a malformed host", "GET /v1/store HTTP/1.1\r\nHost: a b\r\n\r\n", "malformed"},
		{"two hosts", "GET /v1/store HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "well-formed"},
		{"a length that is none", "POST /v1/customers HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", "well-formed"},
		{"an unknown transfer coding", "POST /v1/customers HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", "Transfer-Encoding"},
		{"an unknown version", "GET /v1/store HTTP/3.0\r\nHost: x\r\n\r\n", "HTTP version"},
		{"an unknown expectation", "POST /v1/customers HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n{}", "Expect"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			p := requireProblem(t, w.raw(t, row.request), 400, apierr.ValidationFailed, `{"fields":[]}`, "Connection")
			require.Contains(t, p.Message, row.message)
			require.Contains(t, w.log.String(), p.RequestID, "it is in the log")
		})
	}
	require.Len(t, w.requests(), 14, "each is observed once")
}

// Headers larger than 64 KiB are 431 with the service's own answer on HTTP/1: up to 4 KiB more the
// edge refuses them, beyond that net/http. On HTTP/2 the 431 is that of net/http.
func TestLargeHeaders(t *testing.T) {
	t.Parallel()
	w := start(t)
	line := func(size int) string {
		head, tail := "GET /v1/store HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer full\r\nConnection: close\r\nA: ", "\r\n\r\n"
		return head + strings.Repeat("a", size-len(head)-len(tail)) + tail
	}
	require.Equal(t, 200, w.raw(t, line(rest.MaxHeaderBytes-len("Connection: close\r\n"))).status)
	for reason, request := range map[string]string{
		"a little too large":  line(rest.MaxHeaderBytes + len("Connection: close\r\n") + 1),
		"far too large":       line(3 * rest.MaxHeaderBytes),
		"a huge request line": "GET /v1/store?" + strings.Repeat("a", rest.MaxHeaderBytes) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"no address of ours":  strings.Replace(line(rest.MaxHeaderBytes+1<<10), "/v1/store", "/", 1),
	} {
		p := requireProblem(t, w.raw(t, request), 431, apierr.HeadersTooLarge, "", "Connection")
		require.Contains(t, w.log.String(), p.RequestID, reason)
	}
	a := w.post(t, getProduct, strings.NewReader("{}"), "Content-Type: application/json", "A: "+strings.Repeat("a", rest.MaxHeaderBytes))
	require.Equal(t, "resource_exhausted", a.protocol)
	require.Equal(t, string(apierr.HeadersTooLarge), a.detail.GetCode())

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/v1/store", nil)
	require.NoError(t, err)
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		r.Header.Set(name, strings.Repeat("a", 13500))
	}
	res, err := plainHTTP2(t).Do(r)
	if err != nil { // the client had read the server's settings, and refused to send more
		require.ErrorContains(t, err, "larger than peer's advertised limit")
		return
	}
	require.Equal(t, 431, res.StatusCode)
	require.NoError(t, res.Body.Close())
}

func TestRequestsThatAreOddHTTP(t *testing.T) {
	t.Parallel()
	w := start(t)
	key := "Authorization: Bearer full\r\nConnection: close\r\n"
	requireProblem(t, w.raw(t, "OPTIONS * HTTP/1.1\r\nHost: x\r\n"+key+"\r\n"), 404, apierr.NotFound, "", "Connection")
	requireProblem(t, w.raw(t, "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n"+key+"\r\n"), 404, apierr.NotFound, "", "Connection")
	requireProblem(t, w.raw(t, "POST /v1/customers HTTP/1.1\r\nHost: x\r\n"+key+
		"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), 400, apierr.ValidationFailed, `{"fields":[]}`, "Connection")
	requireProblem(t, w.raw(t, "POST /v1/customers HTTP/1.1\r\nHost: x\r\n"+key+
		"Content-Type: application/json\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"), 415, apierr.UnsupportedMediaType, "", "Connection")
	requireProblem(t, w.raw(t, "POST /v1/customers HTTP/1.1\r\nHost: x\r\n"+key+
		"Content-Type: application/json\r\nContent-Length: 9999999\r\nExpect: 100-continue\r\n\r\n"), 413, apierr.PayloadTooLarge, "", "Connection")
	absolute := w.raw(t, "GET http://x/v1/store HTTP/1.1\r\nHost: x\r\n"+key+"\r\n")
	require.Equal(t, 200, absolute.status)
	old := w.raw(t, "GET /v1/store HTTP/1.0\r\n"+key+"\r\n")
	require.Equal(t, 200, old.status)
	requireHeaders(t, old, "Connection")
}

// The specification's spelling of the header names is what HTTP/1 clients see.
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
