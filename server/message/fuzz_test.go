package message_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
)

const bound = 1 << 10

// requireWorded asserts that the error is a refusal that repeats nothing of the input.
func requireWorded(t *testing.T, err error, sent string) {
	t.Helper()
	var r *apierr.Refusal
	require.ErrorAs(t, err, &r)
	require.NotZero(t, r.Status(), r.Code)
	if len(sent) > 40 {
		require.NotContains(t, r.Message, sent)
	}
}

// For any input, the result is one plain message within the bounds, or nothing.
func FuzzRead(f *testing.F) {
	f.Add("application/json", "gzip", []byte("{}"))
	f.Add("application/grpc", "gzip", []byte("\x01\x00\x00\x00\x02{}"))
	f.Add("application/grpc-web+json; charset=utf-8", "", []byte("\x00\x00\x00\x00\x02{}"))
	f.Add("application/connect+proto", "identity", []byte("\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, kind, compression string, body []byte) {
		for _, as := range []message.Kind{message.Unary, message.ServerStream} {
			r := httptest.NewRequest(http.MethodPost, "/p.S/M?q", io.MultiReader(bytes.NewReader(body)))
			r.Header = http.Header{
				"Content-Type": {kind}, "Content-Encoding": {compression}, "Grpc-Encoding": {compression}, "Connect-Content-Encoding": {compression},
			}
			w := httptest.NewRecorder()
			if err := message.Check(w, r, as); err != nil {
				requireWorded(t, err, kind)
				continue
			}
			inner, release, err := message.Bounds{Bytes: bound}.Read(w, r)
			if err != nil {
				requireWorded(t, err, string(body))
				continue
			}
			content, err := io.ReadAll(inner.Body)
			require.NoError(t, err)
			require.Empty(t, inner.URL.RawQuery)
			require.LessOrEqual(t, len(content), bound+5)
			if strings.HasPrefix(strings.ToLower(kind), "application/grpc") || as == message.ServerStream {
				require.GreaterOrEqual(t, len(content), 5)
				require.Zero(t, content[0], "no flag")
				require.EqualValues(t, len(content)-5, binary.BigEndian.Uint32(content[1:]))
			}
			release()
		}
	})
}

// A stream passes on plain envelopes within the bounds, and ends at the first other one.
func FuzzStream(f *testing.F) {
	f.Add("", []byte("\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x00"))
	f.Add("gzip", []byte("\x01\x00\x00\x00\x01a"))
	f.Add("gzip", []byte("\x00\x00\x00\xff\xffa"))
	f.Fuzz(func(t *testing.T, compression string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/p.S/M", bytes.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/grpc"}, "Grpc-Encoding": {compression}}
		r.ProtoMajor = 2
		w := httptest.NewRecorder()
		if err := message.Check(w, r, message.Bidi); err != nil {
			requireWorded(t, err, compression)
			return
		}
		failed := errors.New("failed")
		inner := message.Bounds{Bytes: bound}.Stream(w, r, func(err error) error {
			requireWorded(t, err, string(body))
			return failed
		})
		content, err := io.ReadAll(inner.Body)
		if err != nil {
			require.ErrorIs(t, err, failed)
		}
		for len(content) > 0 {
			require.GreaterOrEqual(t, len(content), 5)
			size := int(binary.BigEndian.Uint32(content[1:]))
			require.Zero(t, content[0])
			require.LessOrEqual(t, size, bound)
			require.GreaterOrEqual(t, len(content), 5+size)
			content = content[5+size:]
		}
	})
}

// The query of a GET is read like a body.
func FuzzQuery(f *testing.F) {
	f.Add("connect=v1&encoding=json&message=%7B%7D")
	f.Add("encoding=proto&base64=1&compression=gzip&message=H4sIAAAAAAAA_6quBQQAAP__Q7-mowIAAAA=")
	f.Add("encoding=json&message=%zz&message=&=&&")
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "/p.S/M", nil)
		r.URL.RawQuery, r.Body = query, http.NoBody
		w := httptest.NewRecorder()
		if err := message.Check(w, r, message.Unary); err != nil {
			requireWorded(t, err, query)
			return
		}
		inner, release, err := message.Bounds{Bytes: bound}.Read(w, r)
		if err != nil {
			requireWorded(t, err, query)
			return
		}
		defer release()
		content, err := io.ReadAll(inner.Body)
		require.NoError(t, err)
		require.LessOrEqual(t, len(content), bound)
		require.Equal(t, http.MethodPost, inner.Method)
		require.Contains(t, []string{"application/json", "application/proto"}, inner.Header.Get("Content-Type"))
	})
}

// A deadline fits a duration, or is refused.
func FuzzDeadline(f *testing.F) {
	for _, seed := range []string{"", "0", "1000", "99999999H", "1n", "-1S", "+1", "1234567890", "12345678901", "٣S"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, kind := range map[string]string{"Connect-Timeout-Ms": "application/json", "Grpc-Timeout": "application/grpc"} {
			r := httptest.NewRequest(http.MethodPost, "/p.S/M", nil)
			r.Header = http.Header{"Content-Type": {kind}, name: {text}}
			began := time.Now()
			inner, stop, err := message.Deadline(r)
			defer stop()
			require.Empty(t, inner.Header[name])
			until, set := inner.Context().Deadline()
			switch {
			case err != nil:
				requireWorded(t, err, text)
				require.False(t, set)
			case text == "":
				require.False(t, set)
			default:
				require.True(t, set)
				require.False(t, until.Before(began), "%q", text)
			}
		}
	})
}
