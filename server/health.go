package server

import (
	"context"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
	"go.storefront.example/server/rest"
)

// check returns why the service is not ready: it is stopping, its database is away, or the schema
// lacks migrations.
func (s *Server) check(ctx context.Context) error {
	if s.drain.leaving.Load() {
		return apierr.New(apierr.Unavailable, "The service is stopping.")
	}
	return s.readiness.Check(ctx)
}

// openHealth returns the gRPC health service for the named services. Its Watch answers that it is
// not implemented, which clients expect from servers without it.
func (s *Server) openHealth(options rest.OpenOptions, names []string) []rest.Open {
	checker := healthOf{grpchealth.NewStaticChecker(names...), s}
	path, check := grpchealth.NewHandler(checker, options(message.Unary)...)
	_, watch := grpchealth.NewHandler(checker, options(message.ServerStream)...)
	return []rest.Open{
		{Procedure: path + "Check", Kind: message.Unary, Handler: check},
		{Procedure: path + "Watch", Kind: message.ServerStream, Handler: watch},
	}
}

// healthOf implements the gRPC health service: the named services serve while the server is ready.
type healthOf struct {
	grpchealth.Checker
	server *Server
}

// Check reports whether a service is serving. For an unknown name it returns not_found, with the
// health protocol's code for it.
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
