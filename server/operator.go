package server

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/dashboard/signin"
	"go.storefront.example/server/docs"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/monitor"
)

// HasDashboard reports whether the admin listener serves the dashboard, as it does if the admin services are on.
func (s *Server) HasDashboard() bool { return s.operator != nil }

// mounts returns the handlers of the admin listener. Health, metrics and the reference need no token. The gate protects
// the admin services, and members sign in to the dashboard.
func (s *Server) mounts() []monitor.Mount {
	reference := s.bounded(docs.New(docs.Everybody, s.config.apiAddress(s.publicAddress)))
	all := append(monitor.Mounts(s.monitor()),
		monitor.Mount{Pattern: docs.Path, Handler: reference}, monitor.Mount{Pattern: docs.Path + "/", Handler: reference})
	front := docs.Path
	if s.HasDashboard() {
		front = dashboard.Path + "/"
		c, operator := s.config, admin.New(s.config.DB, s.config.Options)
		for path, handler := range rpc.Services(operator, rpc.Config{
			Gate: s.operator, Logger: c.Logger, Unreachable: db.IsUnreachable, Now: c.DB.Now, Slots: s.slots,
		}) {
			all = append(all, monitor.Mount{Pattern: path, Handler: s.bounded(s.withTimeout(handler))})
		}
		all = append(all, s.pages(operator)...)
	}
	return append(all, monitor.Mount{Pattern: "GET /{$}", Handler: http.RedirectHandler(front, http.StatusSeeOther)})
}

func (s *Server) pages(operator *admin.Operator) []monitor.Mount {
	c := s.config
	pages := s.bounded(s.withTimeout(dashboard.New(dashboard.Config{
		Operator: operator, Sessions: signin.New(c.DB), Now: c.DB.Now, Unreachable: db.IsUnreachable, Logger: c.Logger, Slots: s.slots, Platform: c.Platform,
		API: s.knownAddress(),
	})))
	return []monitor.Mount{{Pattern: dashboard.Path, Handler: pages}, {Pattern: dashboard.Path + "/", Handler: pages}}
}

// monitor returns the configuration of health, metrics and profiles. Profiles always need the token.
func (s *Server) monitor() monitor.Config {
	c := monitor.Config{Ready: s.check, Metrics: s.config.Metrics, Logger: s.config.Logger}
	if s.config.AdminToken != "" {
		c.Guard = s.operator.Guard
	}
	return c
}

func (s *Server) adminHandler() http.Handler {
	mounts := monitor.Traced(s.config.Traces, monitor.Mux(s.mounts()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // the reference and files of the dashboard replace it
		mounts.ServeHTTP(w, r)
	})
}

// publicHandler serves the API or, with TLS, the API and the dashboard, each at its name.
func (s *Server) publicHandler() http.Handler {
	api := s.apiHandler()
	if s.config.Certificates == nil {
		return api
	}
	pages := http.NotFoundHandler()
	if s.HasDashboard() {
		mounts := append(s.pages(admin.New(s.config.DB, s.config.Options)),
			monitor.Mount{Pattern: "GET /{$}", Handler: http.RedirectHandler(dashboard.Path+"/", http.StatusSeeOther)})
		pages = monitor.Traced(s.config.Traces, monitor.Mux(mounts))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		host, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
		switch {
		case s.config.DashboardDomain != "" && host == s.config.DashboardDomain:
			w.Header().Set("Cache-Control", "no-store") // files of the dashboard replace it
			pages.ServeHTTP(w, r)
		case len(s.config.APIDomains) == 0 || slices.Contains(s.config.APIDomains, host):
			api.ServeHTTP(w, r)
		default:
			http.Error(w, "This name is not served here.", http.StatusMisdirectedRequest)
		}
	})
}

// apiHandler serves the API and, with PublicDocs, its reference.
func (s *Server) apiHandler() http.Handler {
	if !s.config.PublicDocs {
		return s.edge
	}
	pages := docs.New(docs.Callers, s.config.apiAddress(docs.RequestAddress))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if docs.Covers(r.URL.Path) {
			pages.ServeHTTP(w, r)
			return
		}
		s.edge.ServeHTTP(w, r)
	})
}

// apiAddress returns a function from a request for the reference to the API's address: APIURL if it is set, otherwise find's.
func (c Config) apiAddress(find func(*http.Request) string) func(*http.Request) string {
	if c.APIURL == "" {
		return find
	}
	return func(*http.Request) string { return c.APIURL }
}

// publicAddress is "" unless the public listener is on a loopback address, because this process does not know under which name
// other machines reach it.
func (s *Server) publicAddress(*http.Request) string {
	if at, ok := s.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		return "http://" + at.String()
	}
	return ""
}

// knownAddress returns the API's address for other machines or, if only this machine can reach it, for this one. It is empty if
// nothing names the address.
func (s *Server) knownAddress() string {
	if s.config.APIURL == "" && s.config.Certificates != nil && len(s.config.APIDomains) > 0 {
		return "https://" + s.config.APIDomains[0]
	}
	return s.config.apiAddress(s.publicAddress)(nil)
}

// bounded refuses a request without the operator's token while too many such requests are open. Health and metrics are exempt,
// so that a balancer keeps the server.
func (s *Server) bounded(next http.Handler) http.Handler {
	errors := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.operator != nil && s.operator.HasToken(r) {
			next.ServeHTTP(w, r)
			return
		}
		leave, err := s.keyless.Enter(s.edge.Address(r), r.RemoteAddr)
		if err == nil {
			defer leave()
			next.ServeHTTP(w, r)
			return
		}
		refused := apierr.FromError(err, db.IsUnreachable)
		w.Header().Set("Retry-After", "1")
		if errors.IsSupported(r) {
			_ = errors.Write(w, r, refused.Connect(uuid.NewString(), time.Now()))
			return
		}
		http.Error(w, refused.Message, refused.Status())
	})
}

// withTimeout ends a request that takes longer than the timeout, so long work is divided among several. A stream ends when the
// server stops.
func (s *Server) withTimeout(next http.Handler) http.Handler {
	timeout := cmp.Or(s.config.Timeouts.Request, edge.DefaultTimeout)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var (
			ctx    context.Context
			cancel context.CancelFunc
		)
		if rpc.IsStream(r.URL.Path) {
			ctx, cancel = context.WithCancel(r.Context())
			defer context.AfterFunc(s.streaming, cancel)()
		} else {
			ctx, cancel = context.WithTimeoutCause(r.Context(), timeout, apierr.ErrServiceTimeout)
		}
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// newOperatorGate returns nil if the admin services are off. Without AdminToken, the gate admits programs on this machine if
// AdminOpen is set and the listener is on a loopback address.
func newOperatorGate(c Config, address net.Addr) *rpc.Gate {
	if c.AdminToken != "" {
		return rpc.NewGate(c.AdminToken, c.OldAdminToken)
	}
	if tcp, ok := address.(*net.TCPAddr); ok && c.AdminOpen && tcp.IP.IsLoopback() {
		return rpc.NewLocalGate()
	}
	return nil
}
