package server

import (
	"context"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
	"go.storefront.example/server/rest"
)

// check tells why the service is not ready: it is stopping, its database is away, or the schema
// lacks migrations.
func (s *Server) check(ctx context.Context) error {
	if s.drain.leaving.Load() {
		return apierr.New(apierr.Unavailable, "The service is stopping.")
	}
	return s.readiness.Check(ctx)
}

// openHealth makes the gRPC health service for the named services. Its Watch answers that it is not
// served, as clients expect of those who have none.
func (s *Server) openHealth(options rest.OpenOptions, names []string) []rest.Open {
	checker := healthOf{grpchealth.NewStaticChecker(names...), s}
	path, check := grpchealth.NewHandler(checker, options(message.Unary)...)
	_, watch := grpchealth.NewHandler(checker, options(message.ServerStream)...)
	return []rest.Open{
		{Procedure: path + "Check", Kind: message.Unary, Handler: check},
		{Procedure: path + "Watch", Kind: message.ServerStream, Handler: watch},
	}
}

// healthOf answers the gRPC health service: the services that are served, while the server is ready.
type healthOf struct {
	grpchealth.Checker
	server *Server
}

// Check tells whether a service is serving. It refuses a name that is none with not_found, and the
// code that the health protocol has for it.
func (h healthOf) Check(ctx context.Context, r *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	answer, err := h.Checker.Check(ctx, r)
	if err != nil {
		return nil, &apierr.Refusal{Code: apierr.NotFound, Message: "No service has this name.", Protocol: connect.CodeNotFound}
	}
	if h.server.check(ctx) != nil {
		answer.Status = grpchealth.StatusNotServing
	}
	return answer, nil
}
