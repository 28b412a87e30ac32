package server

import (
	"net"
	"net/http"

	"go.storefront.example/ent/store"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/refusal"
	"go.storefront.example/server/shop"
)

// mount is a handler of the operator's listener and where it stands, as a pattern of http.ServeMux.
type mount struct {
	pattern string
	handler http.Handler
}

// mounts is everything on the operator's listener: /healthz answers while the process lives, /readyz
// while it can serve, /metrics in Prometheus text form, all three to anybody; what stands behind the
// gate is there only when there is one.
func (s *Server) mounts() []mount {
	mounts := []mount{
		{"GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, http.StatusOK, "ok") })},
		{"GET /readyz", http.HandlerFunc(s.serveReady)},
		{"GET /metrics", s.metrics.handler()},
	}
	if s.operator != nil {
		mounts = append(append(mounts, s.serviceMounts()...), s.dashboardMounts()...)
	}
	return mounts
}

func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	if err := s.check(r.Context()); err != nil {
		s.config.Logger.WarnContext(r.Context(), "not ready", "error", err)
		writeStatus(w, http.StatusServiceUnavailable, refusal.Of(err, nil).Message)
		return
	}
	writeStatus(w, http.StatusOK, "ready")
}

func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	for _, m := range s.mounts() {
		mux.Handle(m.pattern, m.handler)
	}
	return mux
}

// newOperatorGate returns what the operator's side stands behind, or nil when it is off: the token;
// without one, and only where the server may be open to programs on this machine, the machine
// itself, provided that the listener is out of reach for others.
func newOperatorGate(c Config, listens net.Addr) *rpc.Gate {
	if c.AdminToken != "" {
		return rpc.NewGate(c.AdminToken)
	}
	if tcp, ok := listens.(*net.TCPAddr); ok && c.AdminOpen && tcp.IP.IsLoopback() {
		return rpc.NewLocalGate()
	}
	return nil
}

// serviceMounts is the operator's services, behind the gate.
func (s *Server) serviceMounts() []mount {
	services := rpc.Services(admin.New(s.config.Store, shop.New(s.config.Store, s.config.Shop)), rpc.Config{
		Gate: s.operator, Logger: s.config.Logger, Unreachable: store.IsUnreachable, Now: s.config.Store.Now,
	})
	mounts := make([]mount, len(services))
	for i, one := range services {
		mounts[i] = mount{one.Path, one.Handler}
	}
	return mounts
}
