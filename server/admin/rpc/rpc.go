// Package rpc is the operator's side on the wire: the services of storefront.admin.v1 over an
// admin.Operator, and the client that does the same from elsewhere. Both ends stand in one file a
// resource, beside the message that travels between them, so that neither can change alone.
//
//	command ─► Client ─► Connect ─► Gate ─► services ─► admin.Operator ─► shop
//
// It stands apart from server/admin, which knows no protocol. It has no rules: it refuses who is
// not the operator, and a request that cannot be read; the rest is the shop's to refuse, and comes
// back to the client's caller as the same refusal.
package rpc

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"

	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/server/admin"
)

// Config says how the services answer. Every field is required.
type Config struct {
	// Gate lets the operator in.
	Gate *Gate
	// Logger gets one line a call.
	Logger *slog.Logger
	// Unreachable tells whether an error means that the database is away.
	Unreachable func(error) bool
	// Now is the clock that refusals are dated by.
	Now func() time.Time
}

// Service is a handler and the prefix of the paths that it is served at, such as
// /storefront.admin.v1.StoreService/, with the exact paths of its procedures.
type Service struct {
	Path       string
	Procedures []string
	Handler    http.Handler
}

// service serves all services of storefront.admin.v1.
type handlers struct{ operator *admin.Operator }

// Services makes the handlers of the operator's services, and of gRPC reflection for them, all
// behind the gate.
func Services(o *admin.Operator, c Config) []Service {
	options := []connect.HandlerOption{
		connect.WithCodec(wire.Codec{}), connect.WithCodec(wire.CharsetCodec{}), connect.WithCodec(wire.BinaryCodec{}),
		connect.WithReadMaxBytes(MaxBodyBytes),
		connect.WithInterceptors(words{c}),
	}
	reflection := []connect.HandlerOption{
		connect.WithReadMaxBytes(maxReflectionBytes), connect.WithCompression("gzip", nil, nil), connect.WithInterceptors(words{c}),
	}
	behind := func(path string, handler http.Handler) Service {
		procedures := proceduresAt(path)
		return Service{path, slices.Sorted(maps.Keys(procedures)), c.serve(procedures, handler)}
	}
	s := handlers{o}
	reflector := grpcreflect.NewStaticReflector(Names()...)
	return []Service{
		behind(adminv1connect.NewStoreServiceHandler(s, options...)),
		behind(adminv1connect.NewProductServiceHandler(s, options...)),
		behind(adminv1connect.NewOrderServiceHandler(s, options...)),
		behind(adminv1connect.NewCustomerServiceHandler(s, options...)),
		behind(adminv1connect.NewPaymentLinkServiceHandler(s, options...)),
		behind(adminv1connect.NewKeyServiceHandler(s, options...)),
		behind(adminv1connect.NewWebhookServiceHandler(s, options...)),
		behind(adminv1connect.NewDeliveryServiceHandler(s, options...)),
		behind(adminv1connect.NewActivityServiceHandler(s, options...)),
		behind(adminv1connect.NewEventServiceHandler(s, options...)),
		behind(adminv1connect.NewDashboardServiceHandler(s, options...)),
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
	}
}
