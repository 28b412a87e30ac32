// Package rpc serves storefront.admin.v1 on the operator's listener, and has the client that calls it
// there.
//
//	command ─► Client ─► Connect ─► Gate ─► admin.Operator
//
// It refuses callers who are not the operator, and requests that cannot be read. Everything else the
// operator refuses, and the client returns the same refusal to its caller.
package rpc

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/grpcreflect"

	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
)

// The procedures whose answers last: until the client or the server ends it, and for as long as the client takes it.
const (
	watchStream  = adminv1connect.EventServiceWatchEventsProcedure
	exportStream = adminv1connect.ExportServiceExportStoreProcedure
)

// IsStream reports whether the answer at a path outlasts the times of requests.
func IsStream(path string) bool { return path == watchStream || path == exportStream }

// Config is how the services answer. Every field is required.
type Config struct {
	// Gate lets the operator in.
	Gate *Gate
	// Logger gets one line a call.
	Logger *slog.Logger
	// Unreachable reports whether an error means that the database is away.
	Unreachable func(error) bool
	// Now is the clock that answers are dated by.
	Now func() time.Time
	// Slots bounds how many calls are carried out at a time. Streams take none.
	Slots *limit.Slots
}

// Services makes the handlers of the operator's services, and of gRPC reflection for them, all
// behind the gate, by the prefix of the paths that each is served at, such as /storefront.admin.v1.StoreService/.
func Services(o admin.Handlers, c Config) map[string]http.Handler {
	options, reflection := edge.CallOptions(c.interceptor()), edge.KeylessOptions(c.interceptor())
	all := map[string]http.Handler{}
	serve := func(path string, handler http.Handler) { all[path] = c.serve(handler) }
	serve(adminv1connect.NewStoreServiceHandler(o, options...))
	serve(adminv1connect.NewProductServiceHandler(o, options...))
	serve(adminv1connect.NewOrderServiceHandler(o, options...))
	serve(adminv1connect.NewCustomerServiceHandler(o, options...))
	serve(adminv1connect.NewPaymentLinkServiceHandler(o, options...))
	serve(adminv1connect.NewKeyServiceHandler(o, options...))
	serve(adminv1connect.NewWebhookServiceHandler(o, options...))
	serve(adminv1connect.NewDeliveryServiceHandler(o, options...))
	serve(adminv1connect.NewActivityServiceHandler(o, options...))
	serve(adminv1connect.NewEventServiceHandler(o, options...))
	serve(adminv1connect.NewDashboardServiceHandler(o, options...))
	serve(adminv1connect.NewImportServiceHandler(o, options...))
	serve(adminv1connect.NewExportServiceHandler(o, options...))
	var names []string
	for path := range all {
		names = append(names, strings.Trim(path, "/"))
	}
	reflector := grpcreflect.NewStaticReflector(names...)
	serve(grpcreflect.NewHandlerV1(reflector, reflection...))
	serve(grpcreflect.NewHandlerV1Alpha(reflector, reflection...))
	return all
}
