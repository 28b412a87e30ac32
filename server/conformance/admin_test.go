package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"connectrpc.com/grpcreflect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.storefront.example/ent/db/dbtest"
	_ "go.storefront.example/gen/storefront/admin/v1" // registers the descriptors of the admin services
)

const operatorToken = "a-token-of-the-operator-for-tests"

func adminProcedures(t *testing.T) []string {
	t.Helper()
	var all []string
	protoregistry.GlobalFiles.RangeFilesByPackage("storefront.admin.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				all = append(all, "/"+string(service.FullName())+"/"+string(service.Methods().Get(j).Name()))
			}
		}
		return true
	})
	require.Greater(t, len(all), 40)
	return all
}

// post sends an empty message. If token is empty, the request has no Authorization header.
func post(t *testing.T, client *http.Client, url, contentType, token string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader([]byte("{}")))
	require.NoError(t, err)
	r.Header.Set("Content-Type", contentType)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, text
}

func TestTheOperatorsSideIsNotOnThePublicListener(t *testing.T) {
	t.Parallel()
	s := newService(t, dbtest.SQLite, settings{token: operatorToken})
	admin := "http://" + s.admin
	for _, procedure := range adminProcedures(t) {
		for _, contentType := range []string{"application/json", "application/proto", "application/grpc"} {
			answer, text := post(t, s.plain, s.url+procedure, contentType, operatorToken)
			require.Equal(t, http.StatusNotFound, answer.StatusCode, procedure)
			var body struct{ Code string }
			require.NoError(t, json.Unmarshal(text, &body), "%s", text)
			require.Equal(t, "not_found", body.Code)
		}
		answer, text := post(t, s.plain, admin+procedure, "application/json", operatorToken)
		require.NotEqual(t, http.StatusUnauthorized, answer.StatusCode, "%s %s", procedure, text)
		require.NotEqual(t, http.StatusInternalServerError, answer.StatusCode, "%s %s", procedure, text)
		for _, token := range []string{"", "x" + operatorToken} {
			answer, text = post(t, s.plain, admin+procedure, "application/json", token)
			require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "%s %s", procedure, text)
			require.Contains(t, string(text), "storefront.v1.Error")
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/dashboard", "/debug/pprof/"} {
		answer, _ := post(t, s.plain, s.url+path, "application/json", operatorToken)
		require.Equal(t, http.StatusNotFound, answer.StatusCode, path)
	}
	stream := grpcreflect.NewClient(s.h2c, s.url).NewStream(t.Context())
	defer stream.Close()
	names, err := stream.ListServices()
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.NotContains(t, string(name), "storefront.admin")
	}
	_, err = stream.FileContainingSymbol("storefront.admin.v1.StoreService")
	require.Error(t, err, "reflection shows nothing of it either")
	_, err = stream.FileByFilename("storefront/admin/v1/store.proto")
	require.Error(t, err)
	_, err = stream.FileContainingSymbol("storefront.v1.StoreService")
	require.NoError(t, err)
}

func TestReflectionOfTheOperatorsSideNeedsTheToken(t *testing.T) {
	t.Parallel()
	s := newService(t, dbtest.SQLite, settings{token: operatorToken})
	closed := grpcreflect.NewClient(s.h2c, "http://"+s.admin).NewStream(t.Context())
	defer closed.Close()
	_, err := closed.ListServices()
	require.Error(t, err)
	open := grpcreflect.NewClient(s.h2c, "http://"+s.admin).NewStream(t.Context(),
		grpcreflect.WithRequestHeaders(http.Header{"Authorization": {"Bearer " + operatorToken}}))
	defer open.Close()
	names, err := open.ListServices()
	require.NoError(t, err)
	require.Contains(t, names, protoreflect.FullName("storefront.admin.v1.OrderService"))
}

func TestTheOperatorsSideIsOffWithoutAToken(t *testing.T) {
	t.Parallel()
	s := newService(t, dbtest.SQLite, settings{})
	for _, procedure := range adminProcedures(t) {
		answer, _ := post(t, s.plain, "http://"+s.admin+procedure, "application/json", operatorToken)
		require.Equal(t, http.StatusNotFound, answer.StatusCode, procedure)
	}
	require.Contains(t, s.log.String(), "the admin services are off")
}
