package server

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	"go.storefront.example/server/apierr"
)

// check returns why the service is not ready: it is stopping, its database is unavailable, or the schema lacks migrations.
func (s *Server) check(ctx context.Context) error {
	if s.drain.leaving.Load() {
		return apierr.New(apierr.Unavailable, "The service is stopping.")
	}
	return s.readiness.Check(ctx)
}

// open returns the procedures that need no key: reflection, and the gRPC health service for the named services. Its Watch
// returns unimplemented, as clients expect from servers without it.
func (s *Server) open(names []string) func(...connect.HandlerOption) map[string]http.Handler {
	return func(options ...connect.HandlerOption) map[string]http.Handler {
		all := reflection(names, options...)
		path, handler := grpchealth.NewHandler(healthOf{grpchealth.NewStaticChecker(names...), s}, options...)
		all[path+"Check"], all[path+"Watch"] = handler, handler
		return all
	}
}

// healthOf implements the gRPC health service: the named services are serving while the server is ready.
type healthOf struct {
	grpchealth.Checker
	server *Server
}

// Check reports whether a service is serving. For an unknown name it returns not_found, the health protocol's code.
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
