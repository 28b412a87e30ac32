// Package server builds the whole service: the public listener with the API in all its protocols, and the admin
// listener with health, metrics, the admin services and the dashboard. Its handlers pass each request to server/shop, which
// has the rules.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/usage"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/certificate"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
	"go.storefront.example/server/monitor"
	"go.storefront.example/server/shop"
)

// DefaultConnections is for a Config without MaxConnections. A connection uses up to 130 kB of memory while the headers of a
// request arrive.
const DefaultConnections = 4096

// shutdownTimeout is how long running requests may take to end when the server stops.
const shutdownTimeout = 10 * time.Second

// Config configures a Server.
type Config struct {
	Addr string
	// AdminAddr is the address of the admin listener, which only the operator should reach.
	AdminAddr string
	// AdminToken is what the admin services require. Without one they are off, unless AdminOpen is set.
	AdminToken string
	// OldAdminToken is accepted too, while AdminToken replaces it; empty means none.
	OldAdminToken string
	// AdminOpen turns the admin services on without a token, for development, and only on a loopback address.
	AdminOpen bool
	// DB has all migrations. The caller closes it.
	DB      *db.DB
	Options admin.Options
	// TrustedProxies are the only addresses whose X-Forwarded-For counts.
	TrustedProxies []netip.Prefix
	// Timeouts are for both listeners. A request longer than Timeouts.Request is answered 503.
	Timeouts edge.Timeouts
	// RequestsPerMinute is each API key's limit; 0 means limit.RequestsPerMinute. Only dev sets another.
	RequestsPerMinute int
	// Clock decides about the minutes of limits and the expiry of keys. Nil means the database's clock, which all servers
	// share.
	Clock func() time.Time
	// Platform is the dashboard's branding, which the caller has checked (dashboard.Platform.Check).
	Platform dashboard.Platform
	// RequestLogOff turns off the dashboard's log of refused requests and counts of successful ones.
	RequestLogOff bool
	// PublicDocs serves the reference on the public listener, too.
	PublicDocs bool
	// APIURL is the API's address in the reference. Empty means the address under which the reader opened it.
	APIURL string
	// Metrics is what /metrics shows; the server adds its own. Nil means a new registry with those of the process and the
	// database.
	Metrics *prometheus.Registry
	// Traces makes the spans of requests; nil makes none.
	Traces trace.TracerProvider
	// MaxConnections is for each listener; one client may have half. 0 means DefaultConnections.
	MaxConnections int
	// Logger gets one line for each request.
	Logger *slog.Logger
	// Certificates turns on TLS on the public listener. Nil means plain HTTP, behind a proxy that terminates TLS.
	Certificates *certificate.Source
	// APIDomains are the API's names on the public listener; empty means all but DashboardDomain.
	APIDomains []string
	// DashboardDomain is the name under which the public listener serves the dashboard alone; empty means none. It needs
	// Certificates.
	DashboardDomain string
	// PlainAddr answers ACME's challenges and redirects to https; empty means none.
	PlainAddr string
	// DrainDelay is how long the server still serves after Run's context has ended. Meanwhile /readyz fails, and each answer
	// closes its connection.
	DrainDelay time.Duration
}

// Server serves the public API and the admin listener in one process.
type Server struct {
	config          Config
	edge            *edge.Edge
	gate            *auth.Gate
	usage           *usage.Recorder // nil if RequestLogOff
	operator        *rpc.Gate       // nil if the admin services are off
	drain           drain
	readiness       *monitor.Readiness
	slots           *limit.Slots
	keyless         limit.OpenCalls // on the admin listener, and of the dashboard
	public, admin   *limit.Listener
	plain           *limit.Listener // nil without Config.PlainAddr
	shutdownTimeout time.Duration
	streaming       context.Context // ends when streams on the admin listener must end
	endStreams      context.CancelFunc
}

// New builds a server and opens both listeners, so that it fails at once if a port is in use.
func New(c Config) (*Server, error) {
	if c.Metrics == nil {
		c.Metrics = monitor.NewRegistry(c.DB, c.Logger)
	}
	s := &Server{
		config: c, shutdownTimeout: shutdownTimeout, drain: drain{delay: c.DrainDelay}, readiness: monitor.NewReadiness(c.DB),
		slots: newSlots(c.DB),
		gate:  auth.NewGate(c.DB, auth.Options{Clock: c.Clock, Log: c.Logger, RequestsPerMinute: c.RequestsPerMinute}),
	}
	s.streaming, s.endStreams = context.WithCancel(context.Background())
	measure := observer(c.Metrics)
	observe := measure
	if !c.RequestLogOff {
		s.usage = usage.New(c.DB, c.Logger)
		observe = func(r edge.Request) { measure(r); s.recordUse(r) }
	}
	rules := shop.New(c.DB, c.Options.Shop)
	names := []string{
		storefrontv1connect.StoreServiceName, storefrontv1connect.ProductServiceName, storefrontv1connect.OrderServiceName,
		storefrontv1connect.CustomerServiceName, storefrontv1connect.PaymentLinkServiceName,
	}
	var err error
	s.edge, err = edge.New(edge.Config{
		Gate: s.gate, Services: api{rules}.services,
		Keyless: s.keylessServices(names),
		Timeout: c.Timeouts.Request, Slots: s.slots,
		TrustedProxies: c.TrustedProxies, Logger: c.Logger,
		Traces: c.Traces, Observe: observe, Unreachable: db.IsUnreachable, Now: c.DB.Now,
	})
	if err != nil {
		return nil, err
	}
	if s.public, err = s.listen(c.Addr); err != nil {
		return nil, err
	}
	if s.admin, err = s.listen(c.AdminAddr); err != nil {
		return nil, errors.Join(err, s.public.Close())
	}
	if c.PlainAddr != "" {
		if s.plain, err = s.listen(c.PlainAddr); err != nil {
			return nil, errors.Join(err, s.public.Close(), s.admin.Close())
		}
	}
	s.addLoad(c.Metrics)
	c.Metrics.MustRegister(certificateExpiries{c.Certificates})
	if s.operator = newOperatorGate(c, s.admin.Addr()); s.operator == nil {
		c.Logger.Info("the admin services are off: there is no --admin-token")
	}
	return s, nil
}

// listen opens a listener that limits its connections.
func (s *Server) listen(address string) (*limit.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return limit.NewListener(l, cmp.Or(s.config.MaxConnections, DefaultConnections), func(a netip.Addr) bool {
		return slices.ContainsFunc(s.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}), nil
}

// slotsPerConn is two for each database connection: while one request uses it, another is decoded or its answer encoded.
const slotsPerConn = 2

// newSlots returns the slots that the public API, the admin services and the dashboard share. A store has at most half as many
// as there are database connections.
func newSlots(d *db.DB) *limit.Slots {
	return limit.NewSlots(slotsPerConn*d.Conns(), d.Conns()/2).PerPool(d.PoolOf)
}

// Addr returns the address of the public listener.
func (s *Server) Addr() net.Addr { return s.public.Addr() }

// PlainAddr returns nil without Config.PlainAddr.
func (s *Server) PlainAddr() net.Addr {
	if s.plain == nil {
		return nil
	}
	return s.plain.Addr()
}

// AdminAddr returns the address of the admin listener.
func (s *Server) AdminAddr() net.Addr { return s.admin.Addr() }

// Run serves until the context has ended and the drain delay has passed. Then it waits for running requests, ends those that
// take too long, and writes the counts and the keys' last uses that are in memory. Call it once.
func (s *Server) Run(ctx context.Context) error {
	public := edge.NewServer(s.drain.handler(s.publicHandler()), s.config.Timeouts, s.config.Logger)
	admin := edge.NewServer(s.adminHandler(), s.config.Timeouts, s.config.Logger)
	admin.RegisterOnShutdown(s.endStreams)
	group, running := errgroup.WithContext(ctx)
	gateContext, stopGate := context.WithCancel(context.WithoutCancel(ctx))
	gateDone := make(chan error, 1)
	go func() { gateDone <- s.gate.Run(gateContext) }()
	usageDone := make(chan error, 1)
	go func() { usageDone <- s.runUsage(gateContext) }()
	servers := []*http.Server{public, admin}
	if s.plain != nil {
		plain := edge.NewServer(s.config.Certificates.Plain(), s.config.Timeouts, s.config.Logger)
		servers = append(servers, plain)
		group.Go(func() error { return serve(plain, s.plain) })
	}
	if s.config.Certificates != nil {
		public.TLSConfig = s.config.Certificates.TLS()
		group.Go(func() error { s.config.Certificates.Run(running); return nil })
	}
	var serving sync.WaitGroup // until both have accepted their last connection
	var last busy
	for server, l := range map[*http.Server]net.Listener{public: s.public, admin: s.admin} {
		server.ConnState = last.track
		serving.Add(1)
		group.Go(func() error {
			defer serving.Done()
			return serve(server, l)
		})
	}
	group.Go(func() error { s.config.DB.KeepCurrent(running); return nil })
	group.Go(func() error { count.New(s.config.DB).Run(running, s.config.Logger); return nil })
	group.Go(func() error {
		<-running.Done()
		s.drain.wait(running)
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.shutdownTimeout)
		defer cancel()
		s.edge.EndStreams()
		// net/http answers no request that it reads after Shutdown has begun, so first let those of the last connections end.
		errs := []error{s.public.Close(), s.admin.Close()}
		serving.Wait()
		last.wait(lastRequests)
		for _, server := range servers {
			errs = append(errs, s.shutdown(ending, server))
		}
		return errors.Join(errs...)
	})
	err := group.Wait()
	stopGate()
	return errors.Join(err, <-gateDone, <-usageDone)
}

// lastRequests is how long the requests of connections that were accepted last have to arrive and end.
const lastRequests = time.Second

// shutdown waits for running requests until the context ends, and then closes their connections, because a slow reader could
// delay the end for ever.
func (s *Server) shutdown(ctx context.Context, server *http.Server) error {
	err := server.Shutdown(ctx)
	switch {
	case errors.Is(err, net.ErrClosed): // its listener is closed already
		return nil
	case !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	s.config.Logger.WarnContext(ctx, "requests were cut off: they did not end in time", "after", s.shutdownTimeout.String())
	return server.Close()
}

func serve(server *http.Server, l net.Listener) error {
	run := server.Serve
	if server.TLSConfig != nil {
		run = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	if err := run(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	return nil
}
