// Package rpc serves storefront.v1 and storefront.admin.v1 on the admin listener, and has the client that calls them
// there.
//
//	command ─► Client ─► Connect ─► Gate ─► admin.Operator
//
// The gate refuses callers who are not the operator. This package refuses requests that cannot be read. All other requests
// go to an admin.Operator, and Client returns the Operator's refusals to its caller unchanged.
package rpc

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/grpcreflect"

	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
)

// watchStream lasts until the client or the server ends it; exportStream as long as the client reads it.
const (
	watchStream  = adminv1connect.EventServiceWatchEventsProcedure
	exportStream = adminv1connect.ExportServiceExportStoreProcedure
)

// IsStream reports whether the answer at a path may outlast the timeouts of other requests.
func IsStream(path string) bool { return path == watchStream || path == exportStream }

// Config requires every field.
type Config struct {
	Gate *Gate
	// Logger gets one line for each call.
	Logger *slog.Logger
	// Unreachable reports whether an error means that the database is unavailable.
	Unreachable func(error) bool
	// Now is the clock for the dates of answers.
	Now func() time.Time
	// Slots bounds how many calls run at a time. Streams take no slots.
	Slots *limit.Slots
}

// Services returns the handlers of both services and of gRPC reflection by their prefixes, such as
// /storefront.admin.v1.StoreService/, all behind the gate.
func Services(o admin.Handlers, c Config) map[string]http.Handler {
	each := interceptor{c, o}
	options, reflection := edge.CallOptions(each), edge.KeylessOptions(each)
	all := map[string]http.Handler{}
	serve := func(path string, handler http.Handler) { all[path] = c.serve(handler) }
	serve(adminv1connect.NewStoreServiceHandler(o, options...))
	serve(adminv1connect.NewNameServiceHandler(o, options...))
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
	serve(storefrontv1connect.NewStoreServiceHandler(o, options...))
	serve(storefrontv1connect.NewProductServiceHandler(o, options...))
	serve(storefrontv1connect.NewOrderServiceHandler(o, options...))
	serve(storefrontv1connect.NewCustomerServiceHandler(o, options...))
	serve(storefrontv1connect.NewPaymentLinkServiceHandler(o, options...))
	var names []string
	for path := range all {
		names = append(names, strings.Trim(path, "/"))
	}
	reflector := grpcreflect.NewStaticReflector(names...)
	serve(grpcreflect.NewHandlerV1(reflector, reflection...))
	serve(grpcreflect.NewHandlerV1Alpha(reflector, reflection...))
	return all
}
