package rpc_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
)

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(bytes.Repeat([]byte("0"), 8<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, row := range map[string]struct {
		body          string
		header, value string
		status        int
	}{
		"compressed and too large": {packed.String(), "Content-Encoding", "gzip", 429},
		"no gzip":                  {"hunter2", "Content-Encoding", "gzip", 400},
		"another compression":      {"hunter2", "Content-Encoding", "br", 501},
		"a malformed deadline":     {"{}", "Connect-Timeout-Ms", "hunter2", 400},
		"an expired deadline":      {"{}", "Connect-Timeout-Ms", "0", 504},
		"another version":          {"{}", "Connect-Protocol-Version", "hunter2", 400},
		"a type of no protocol":    {"{}", "Content-Type", "text/hunter2", 415},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", b.url+"/storefront.admin.v1.StoreService/ListStores",
			strings.NewReader(row.body))
		require.NoError(t, err)
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}}
		r.Header.Set(row.header, row.value)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, row.status, answer.StatusCode, name)
	}
	require.NotContains(t, b.log.String(), `"level":"ERROR"`)

	answer, _, refused := b.post("StoreService/Hunter2", "{}")
	require.Equal(t, string(apierr.NotFound), refused.GetCode(), "an unknown method has the Error too")
	require.Equal(t, http.StatusNotImplemented, answer.StatusCode)

	prefix := binary.BigEndian.AppendUint32([]byte{0}, 1<<32-1)
	r, err := http.NewRequestWithContext(t.Context(), "POST", b.url+"/storefront.admin.v1.StoreService/ListStores",
		io.MultiReader(bytes.NewReader(prefix)))
	require.NoError(t, err)
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Authorization": {"Bearer " + token}}
	res, err := b.http(true).Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	require.Equal(t, "8", res.Header.Get("Grpc-Status")+res.Trailer.Get("Grpc-Status"))
}

// Reflection is a stream.
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
}

// A client that was given the public listener's address says which one it needs.
func TestClientOfThePublicListenerIsTold(t *testing.T) {
	t.Parallel()
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"statusCode":404,"code":"not_found","message":"There is nothing at this address."}`)
	}))
	defer public.Close()
	c, err := rpc.NewClient(public.URL, strings.Repeat("t", 32))
	require.NoError(t, err)
	_, err = c.ListStores(t.Context(), &adminv1.ListStoresRequest{})
	require.ErrorContains(t, err, "no admin services are served there; the address is that of a server's --admin-addr")
}
