package server

import (
	"context"
	"net"
	"net/http"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/docs"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/monitor"
)

// mount is a handler of the operator's listener with its pattern for http.ServeMux.
type mount struct {
	pattern string
	handler http.Handler
}

// mounts returns everything on the operator's listener: health, metrics and the reference, without
// authentication; and the services behind the gate, if there is one.
func (s *Server) mounts() []mount {
	var mounts []mount
	for _, m := range monitor.Mounts(s.monitor()) {
		mounts = append(mounts, mount{m.Pattern, m.Handler})
	}
	mounts = append(mounts, s.docsMounts()...)
	if s.operator != nil {
		mounts = append(append(mounts, s.serviceMounts()...), s.dashboardMounts()...)
	}
	return append(mounts, mount{"GET /{$}", http.RedirectHandler(s.front(), http.StatusSeeOther)})
}

// front is the page to which the operator's listener sends a browser that names none.
func (s *Server) front() string {
	if s.HasDashboard() {
		return dashboard.Path + "/"
	}
	return docs.Path
}

// monitor returns the configuration of health, metrics and profiles. Profiles always need the
// token, even from this machine.
func (s *Server) monitor() monitor.Config {
	c := monitor.Config{Ready: s.check, Metrics: s.config.Metrics, Logger: s.config.Logger}
	if s.config.AdminToken != "" {
		c.Guard = s.operator.Guard
	}
	return c
}

// adminHandler is what the operator's listener serves.
func (s *Server) adminHandler() http.Handler {
	return monitor.Traced(s.config.Traces, s.adminMux())
}

func (s *Server) adminMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, m := range s.mounts() {
		mux.Handle(m.pattern, m.handler)
	}
	return mux
}

// publicHandler is what the public listener serves.
func (s *Server) publicHandler() http.Handler {
	if s.config.PublicDocs {
		return withDocs(s.config.ownAddress(docs.Own), s.edge)
	}
	return s.edge
}

// timed ends the work for an operator's request when its time is over. No request is long: longer
// work is done in steps. A stream ends when the server stops.
func (s *Server) timed(next http.Handler) http.Handler {
	timeout := s.config.RequestTimeout
	if timeout == 0 {
		timeout = edge.DefaultTimeout
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var (
			ctx    context.Context
			cancel context.CancelFunc
		)
		if r.URL.Path == rpc.Stream {
			ctx, cancel = context.WithCancel(r.Context())
			defer context.AfterFunc(s.streaming, cancel)()
		} else {
			ctx, cancel = context.WithTimeoutCause(r.Context(), timeout, apierr.ErrOutOfTime)
		}
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// newOperatorGate returns the gate of the operator's side, or nil if that is off. The gate requires
// the token. Without a token, and only if the server may be open to programs on this machine, it
// admits this machine, provided that others cannot reach the listener.
func newOperatorGate(c Config, listens net.Addr) *rpc.Gate {
	if c.AdminToken != "" {
		return rpc.NewGate(c.AdminToken, c.OldAdminToken)
	}
	if tcp, ok := listens.(*net.TCPAddr); ok && c.AdminOpen && tcp.IP.IsLoopback() {
		return rpc.NewLocalGate()
	}
	return nil
}

// serviceMounts is the operator's services, behind the gate.
func (s *Server) serviceMounts() []mount {
	services := rpc.Services(admin.New(s.config.DB, s.config.Options), rpc.Config{
		Gate: s.operator, Logger: s.config.Logger, Unreachable: db.IsUnreachable, Now: s.config.DB.Now,
		Slots: s.slots,
	})
	var mounts []mount
	for path, handler := range services {
		mounts = append(mounts, mount{path, s.timed(handler)})
	}
	return mounts
}
