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
	"maps"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/grpcreflect"

	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
)

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

// Service is a handler and the prefix of the paths that it is served at, such as
// /storefront.admin.v1.StoreService/.
type Service struct {
	Path string
	// Streams are those of the procedures whose answer lasts until the client or the server ends it.
	Streams []string
	Handler http.Handler
}

// Services makes the handlers of the operator's services, and of gRPC reflection for them, all
// behind the gate.
func Services(o admin.Handlers, c Config) []Service {
	options, reflection := edge.CallOptions(words{c}), edge.OpenOptions(words{c})
	behind := func(path string, handler http.Handler) Service {
		procedures := proceduresAt(path)
		streams := slices.DeleteFunc(slices.Collect(maps.Keys(procedures)), func(name string) bool { return !procedures[name].stream })
		return Service{path, streams, c.serve(procedures, handler)}
	}
	reflector := grpcreflect.NewStaticReflector(Names()...)
	return []Service{
		behind(adminv1connect.NewStoreServiceHandler(o, options...)),
		behind(adminv1connect.NewProductServiceHandler(o, options...)),
		behind(adminv1connect.NewOrderServiceHandler(o, options...)),
		behind(adminv1connect.NewCustomerServiceHandler(o, options...)),
		behind(adminv1connect.NewPaymentLinkServiceHandler(o, options...)),
		behind(adminv1connect.NewKeyServiceHandler(o, options...)),
		behind(adminv1connect.NewWebhookServiceHandler(o, options...)),
		behind(adminv1connect.NewDeliveryServiceHandler(o, options...)),
		behind(adminv1connect.NewActivityServiceHandler(o, options...)),
		behind(adminv1connect.NewEventServiceHandler(o, options...)),
		behind(adminv1connect.NewDashboardServiceHandler(o, options...)),
		behind(adminv1connect.NewImportServiceHandler(o, options...)),
		behind(grpcreflect.NewHandlerV1(reflector, reflection...)),
		behind(grpcreflect.NewHandlerV1Alpha(reflector, reflection...)),
	}
}

// Names lists the full names of the operator's services.
func Names() []string {
	return []string{
		adminv1connect.StoreServiceName, adminv1connect.ProductServiceName, adminv1connect.OrderServiceName,
		adminv1connect.CustomerServiceName, adminv1connect.PaymentLinkServiceName, adminv1connect.KeyServiceName,
		adminv1connect.WebhookServiceName, adminv1connect.DeliveryServiceName, adminv1connect.ActivityServiceName,
		adminv1connect.EventServiceName, adminv1connect.DashboardServiceName,
		adminv1connect.ImportServiceName,
	}
}
