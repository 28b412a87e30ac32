package server

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"go.storefront.example/ent/usage"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

// recordUse counts a request with a known key for the dashboard, with the reason if it was refused. It ignores a request whose
// caller left.
func (s *Server) recordUse(r edge.Request) {
	if r.KeyID == uuid.Nil || r.Status == 0 || r.Status == apierr.StatusClientClosedRequest {
		return
	}
	now, refused := s.config.DB.Now(), r.Code != "" || r.Status >= http.StatusBadRequest
	s.usage.Count(r.StoreID, r.KeyID, now, usage.Day, !refused, r.Duration)
	if !refused {
		return
	}
	status := r.Status
	if status < http.StatusBadRequest { // gRPC and gRPC-Web send errors with status 200
		status = apierr.New(apierr.Code(r.Code), "").Status()
	}
	s.usage.Refuse(usage.Refused{
		StoreID: r.StoreID, KeyID: r.KeyID, RequestID: r.RequestID, Method: r.Method, Route: r.Route, Code: r.Code, Status: status,
		Fields: r.Fields, At: now,
	})
}

func (s *Server) runUsage(ctx context.Context) error {
	if s.usage == nil {
		return nil
	}
	return s.usage.Run(ctx)
}
