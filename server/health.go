package server

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/grpchealth"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/refusal"
)

// readyTimeout bounds the look at the database behind /readyz and the gRPC health service.
const readyTimeout = 2 * time.Second

// check tells why the service is not ready: it is stopping, its database is away, or the schema
// lacks migrations.
func (s *Server) check(ctx context.Context) error {
	if !s.ready.Load() {
		return refusal.New(refusal.Unavailable, "The service is stopping.")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	current, err := s.config.Store.Current(ctx)
	switch {
	case err != nil:
		return &refusal.Refusal{Code: refusal.Unavailable, Message: "The database cannot be reached.", Cause: err}
	case !current:
		return refusal.New(refusal.Unavailable, "The schema is behind; run storefront migrate up.")
	}
	return nil
}

func writeStatus(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(wire.AppendString([]byte(`{"status":`), text), "}\n"...))
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
