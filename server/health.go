package server

import (
	"context"

	"connectrpc.com/grpchealth"

	"go.storefront.example/server/monitor"
	"go.storefront.example/server/refusal"
)

// check tells why the service is not ready: it is stopping, its database is away, or the schema
// lacks migrations.
func (s *Server) check(ctx context.Context) error {
	if !s.ready.Load() {
		return refusal.New(refusal.Unavailable, "The service is stopping.")
	}
	return monitor.Ready(ctx, s.config.Store)
}

// healthOf answers the gRPC health service: the services that are served, while the server is ready.
type healthOf struct {
	grpchealth.Checker
	server *Server
}

// Check tells whether a service is serving.
func (h healthOf) Check(ctx context.Context, r *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	answer, err := h.Checker.Check(ctx, r)
	if err == nil && h.server.check(ctx) != nil {
		answer.Status = grpchealth.StatusNotServing
	}
	return answer, err
}
