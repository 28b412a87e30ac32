package rest

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
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
