package rpc_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/limit"
	"go.storefront.example/server/webhooks"
)

func codeOf(err error) apierr.Code {
	var r *apierr.Refusal
	if r, _ := apierr.FromConnect(err); r != nil {
		return r.Code
	}
	switch {
	case errors.As(err, &r):
		return r.Code
	case err != nil:
		return apierr.Code("no refusal: " + err.Error())
	}
	return ""
}

type bench struct {
	*testing.T
	operator *admin.Operator
	db       *db.DB
	url      string
	log      *dbtest.Log
	slots    *limit.Slots
	product  string // id of the product that newOrder sells
}

func newBench(t *testing.T, database string, config db.Config) *bench {
	t.Helper()
	return newBenchOn(t, dbtest.New(t, database, config))
}

const benchSlots = 16

func newBenchOn(t *testing.T, d *db.DB) *bench {
	t.Helper()
	b := &bench{T: t, db: d, log: &dbtest.Log{}, slots: limit.NewSlots(benchSlots, benchSlots)}
	key, err := seal.ParseKey("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	require.NoError(t, err)
	b.operator = admin.New(b.db, admin.Options{Webhooks: webhooks.Options{Secrets: seal.NewKeyring(key)}})
	mux := http.NewServeMux()
	for path, handler := range rpc.Services(b.operator, rpc.Config{
		Gate: rpc.NewGate(token, ""), Logger: slog.New(slog.NewJSONHandler(b.log,
			&slog.HandlerOptions{Level: slog.LevelDebug})), Unreachable: db.IsUnreachable, Now: b.db.Now,
		Slots: b.slots,
	}) {
		mux.Handle(path, handler)
	}
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	b.url = server.URL
	stores := adminv1connect.NewStoreServiceClient(b.http(false), b.url, b.withToken(token))
	_, err = stores.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NotContains(t, b.log.String(), token, "the token is never logged") })
	return b
}

// http returns a client, with h2c one that speaks HTTP/2 without TLS as gRPC clients do.
func (b *bench) http(h2c bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!h2c)
	protocols.SetUnencryptedHTTP2(h2c)
	transport := &http.Transport{Protocols: protocols}
	b.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (b *bench) withToken(token string) connect.ClientOption {
	return connect.WithInterceptors(header("Authorization", "Bearer "+token))
}

func header(name, value string) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
			call.Header().Set(name, value)
			return next(ctx, call)
		}
	}
}
