package server

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	"go.storefront.example/server/apierr"
)

// check returns an error if the server is stopping, its database is unavailable, or the schema lacks migrations.
func (s *Server) check(ctx context.Context) error {
	if s.drain.draining.Load() {
		return apierr.New(apierr.Unavailable, "The service is stopping.")
	}
	return s.readiness.Check(ctx)
}

// keylessServices returns the handlers that need no key, by path: reflection, and the gRPC health service for the services in
// names. Its Watch returns unimplemented, which clients accept.
func (s *Server) keylessServices(names []string) func(...connect.HandlerOption) map[string]http.Handler {
	return func(options ...connect.HandlerOption) map[string]http.Handler {
		all := reflection(names, options...)
		path, handler := grpchealth.NewHandler(healthChecker{grpchealth.NewStaticChecker(names...), s}, options...)
		all[path+"Check"], all[path+"Watch"] = handler, handler
		return all
	}
}

// healthChecker implements the gRPC health service. All services that it knows serve while the server is ready.
type healthChecker struct {
	grpchealth.Checker
	server *Server
}

// Check returns not_found for an unknown name, as the health protocol demands.
func (h healthChecker) Check(ctx context.Context, r *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	answer, err := h.Checker.Check(ctx, r)
	if err != nil {
		return nil, &apierr.Refusal{Code: apierr.NotFound, Message: "No service has this name.", Protocol: connect.CodeNotFound}
	}
	if h.server.check(ctx) != nil {
		answer.Status = grpchealth.StatusNotServing
	}
	return answer, nil
}
