package rpc_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// What is too large or malformed is refused with the Error, before Connect sees it, with nothing of
// what was sent.
func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(bytes.Repeat([]byte("0"), 8<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, row := range map[string]struct {
		body    string
		headers []string
		code    apierr.Code
		status  int
	}{
		"compressed and too large": {packed.String(), []string{"Content-Encoding", "gzip"}, apierr.PayloadTooLarge, 429},
		"no gzip":                  {"hunter2", []string{"Content-Encoding", "gzip"}, apierr.ValidationFailed, 400},
		"another compression":      {"hunter2", []string{"Content-Encoding", "br"}, apierr.UnsupportedMediaType, 400},
		"a malformed deadline":     {"{}", []string{"Connect-Timeout-Ms", "hunter2"}, apierr.ValidationFailed, 400},
		"an expired deadline":      {"{}", []string{"Connect-Timeout-Ms", "0"}, apierr.DeadlineExceeded, 504},
		"another version":          {"{}", []string{"Connect-Protocol-Version", "hunter2"}, apierr.ValidationFailed, 400},
		"a type of no protocol":    {"{}", []string{"Content-Type", "text/hunter2"}, apierr.UnsupportedMediaType, 400},
	} {
		answer, text, refused := b.post("StoreService/ListStores", row.body, row.headers...)
		require.NotNil(t, refused, name)
		require.EqualValues(t, row.code, refused.GetCode(), name)
		require.Equal(t, row.status, answer.StatusCode, name)
		require.NotContains(t, string(text)+refused.String(), "hunter2", name)
	}
	require.NotContains(t, b.log.String(), `"level":"ERROR"`)

	answer, _, refused := b.post("StoreService/Hunter2", "{}")
	require.Equal(t, string(apierr.NotFound), refused.GetCode(), "an unknown method has the Error too")
	require.Equal(t, http.StatusNotImplemented, answer.StatusCode)

	prefix := binary.BigEndian.AppendUint32([]byte{0}, 1<<32-1)
	r, err := http.NewRequestWithContext(t.Context(), "POST", b.url+"/storefront.admin.v1.StoreService/ListStores", io.MultiReader(bytes.NewReader(prefix)))
	require.NoError(t, err)
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Authorization": {"Bearer " + token}}
	res, err := b.http(true).Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	require.Equal(t, "8", res.Header.Get("Grpc-Status")+res.Trailer.Get("Grpc-Status"))
}

// A stream's message is bounded like any other, and what is asked for does not come back.
func TestReflectionIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	stream := grpcreflect.NewClient(b.http(true), b.url).NewStream(t.Context(),
		grpcreflect.WithRequestHeaders(http.Header{"Authorization": {"Bearer " + token}}))
	defer stream.Close()
	_, err := stream.ListServices()
	require.NoError(t, err)
	_, err = stream.FileContainingSymbol("storefront.admin.v1.StoreService")
	require.NoError(t, err)
	_, err = stream.FileByFilename(strings.Repeat("hunter2", 1<<10))
	require.Error(t, err)
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
	require.Equal(t, apierr.PayloadTooLarge, codeOf(err))
	require.NotContains(t, err.Error(), "hunter2")

	// Without HTTP/2 there are no such streams.
	_, err = connect.NewClient[adminv1.GetStoreRequest, storefrontv1.Store](b.http(false), b.url+"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
		connect.WithGRPCWeb(), b.as(token)).CallUnary(t.Context(), connect.NewRequest(&adminv1.GetStoreRequest{}))
	require.Equal(t, apierr.ValidationFailed, codeOf(err))
}
