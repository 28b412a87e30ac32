// Package edge serves the public listener. It decides which requests are served, in which of the four protocols (REST JSON
// under /v1, Connect, gRPC, gRPC-Web), and the exact form of every answer.
//
// The order of the checks of a request under /v1 is part of the contract. The first check that fails determines the answer:
//
//	address limit → key → counter → store state → path and method → scope →
//	media type and size → body and query → existence → rules
//
//	request ─► Edge: id, key, rate ─► method, scope ─► media type, size ─► decode ─► vanguard ─► Connect ─► intercept ─► handler
//
// The edge decodes path, query and JSON body once, strictly, into the message that the interceptor gives to the handler. For a
// request under /v1, vanguard calls Connect for the method's address, passes the answer through, and writes the error body.
// A request with fields that could not be decoded reaches its handler too, which adds the fields that its rules refuse, so
// that one answer lists everything that is wrong. ent/hook refuses every change that such a request would make.
//
// Every answer has X-RateLimit-Limit, -Remaining, -Reset and X-Request-Id. A refusal under /v1 has the specification's error
// body; in the other protocols it is the protocol's own error, with a storefront.v1.Error as its detail. No CORS header is ever
// sent. The cause of a service error is in the log, and never in the answer.
//
// The package has no rules of resources, does not read the database, and knows a key only as a principal. net/http itself
// answers malformed HTTP and headers that are too large.
package edge

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/httplog"
	"go.storefront.example/server/limit"
)

// MaxBodyBytes limits a request's body, in every protocol: 1 MiB.
const MaxBodyBytes = 1 << 20

// Gate counts a request, and admits it or not. It always returns the rate and, for an existing key, the principal. The error is
// an *apierr.Refusal or a failure of the service.
type Gate interface {
	Admit(ctx context.Context, authorization []string, address netip.Addr) (auth.Principal, limit.Rate, error)
}

// Service is an RPC service: what a generated function such as NewProductServiceHandler returns. Path is such as
// /storefront.v1.ProductService/.
type Service struct {
	Path    string
	Handler http.Handler
}

// Config requires Gate, Services, Slots, Logger, Unreachable and Now.
type Config struct {
	// Gate decides about requests under /v1 and calls of Services.
	Gate Gate
	// Services returns the handlers of the API with the given options.
	Services func(opts ...connect.HandlerOption) []Service
	// Keyless returns the handlers of procedures that need no key (health and reflection), by path; nil if there are none.
	Keyless func(opts ...connect.HandlerOption) map[string]http.Handler
	// TrustedProxies are the proxies whose X-Forwarded-For is used.
	TrustedProxies []netip.Prefix
	// Logger gets one line for each request.
	Logger *slog.Logger
	// Traces makes the spans of requests; nil makes none. A span only links to the client's trace, because a client must not
	// decide about traces or sampling.
	Traces trace.TracerProvider
	// Observe is called once for each request, after the answer. It may be nil, and must not block.
	Observe func(Request)
	// Timeout is after how long a request is answered with 503. 0 means DefaultTimeout.
	Timeout time.Duration
	// Slots bounds how many requests use the database. Others wait for a slot, or are refused with unavailable.
	Slots *limit.Slots
	// Unreachable reports whether an error means that the database is unavailable.
	Unreachable func(error) bool
	// Now is the clock for dates in errors and for the minutes of limits. Durations are by the machine's own clock.
	Now func() time.Time
}

// Edge is the handler of the public listener. Goroutines may share it.
type Edge struct {
	config     Config
	methods    map[string]*method // by procedure
	routes     *http.ServeMux     // finds the method for a verb and a path under /v1
	transcoder http.Handler       // vanguard: it converts requests under /v1 to calls
	compress   func(http.Handler) http.HandlerFunc
	streaming  context.Context
	endStreams context.CancelFunc
	keyless    limit.OpenCalls
	errors     *connect.ErrorWriter
}

// New fails if a service has no descriptor, or a method has no scope or no HTTP binding that vanguard can serve.
func New(config Config) (*Edge, error) {
	config.Timeout = cmp.Or(config.Timeout, DefaultTimeout)
	e := &Edge{
		config: config, methods: map[string]*method{}, routes: http.NewServeMux(), errors: connect.NewErrorWriter(),
	}
	e.streaming, e.endStreams = context.WithCancel(context.Background())
	intercept := connect.UnaryInterceptorFunc(e.intercept)
	services := config.Services(CallOptions(intercept)...)
	for _, s := range services {
		if err := readMethods(s, e.methods); err != nil {
			return nil, err
		}
	}
	for _, m := range e.methods {
		e.routes.Handle(m.verb+" "+m.template, m)
	}
	if config.Keyless != nil {
		for procedure, handler := range config.Keyless(KeylessOptions(intercept)...) {
			e.methods[procedure] = &method{procedure: procedure, Handler: handler}
		}
	}
	return e, e.mountTranscoder(services)
}

// EndStreams ends all open streams, which last as long as their callers like, and refuses new ones with unavailable.
func (e *Edge) EndStreams() { e.endStreams() }

// Patterns lists every address with its HTTP method: templates of paths under /v1, and procedures.
func (e *Edge) Patterns() []string {
	var all []string
	for procedure, m := range e.methods {
		all = append(all, "POST "+procedure)
		if m.template != "" {
			all = append(all, m.verb+" "+m.template)
		}
	}
	slices.Sort(all)
	return all
}

// ServeHTTP answers one request.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		Exchange: httplog.Begin(w), edge: e, protocol: ProtocolNone, rate: limit.Uncounted(e.config.Now()), address: e.Address(r),
	}
	x.Method = knownMethod(r.Method)
	ctx, cancel := context.WithTimeoutCause(context.WithValue(r.Context(), exchangeKey{}, x), e.config.Timeout,
		apierr.ErrServiceTimeout)
	defer cancel()
	if e.config.Traces != nil {
		ctx = e.beginSpan(ctx, x, r.Header.Get("Traceparent"))
	}
	x.incoming = r.WithContext(ctx)
	defer e.finish(x)
	defer x.Recover(e.config.Logger, func(err error) { e.refuse(x, err) })
	if err := e.serve(x, x.incoming); err != nil {
		e.refuse(x, err)
	}
}

// serve returns the error with which a request is refused.
func (e *Edge) serve(x *exchange, r *http.Request) error {
	path, allow := cmp.Or(r.URL.RawPath, r.URL.Path), ""
	if path == "/v1" || strings.HasPrefix(path, "/v1/") {
		x.protocol = ProtocolREST
		if x.method, allow = e.find(r.Method, path); x.method != nil {
			x.Route = x.method.template
		}
	} else {
		if x.method = e.methods[path]; x.method == nil {
			return notFound()
		}
		x.protocol, x.Route = protocolOf(r), path
		if x.method.scope == "" {
			return e.serveKeyless(x, r)
		}
	}
	principal, rate, err := e.config.Gate.Admit(r.Context(), r.Header["Authorization"], x.address)
	x.principal, x.rate = principal, rate
	switch {
	case err != nil:
		return err
	case x.method == nil:
		return notFound()
	case allow != "":
		x.Header()["Allow"] = []string{allow}
		return methodNotAllowed()
	}
	if err := principal.Require(x.method.scope); err != nil {
		return err
	}
	call := tenant.Call{Store: principal.Store, InStore: true, Actor: principal.Actor()}
	if !x.method.safe {
		call.Request = &x.Request
	}
	ctx := tenant.WithCall(r.Context(), call)
	if x.protocol == ProtocolREST {
		return e.serveREST(ctx, x, r, path)
	}
	return e.serveCall(x, r.WithContext(ctx))
}

// refuse answers in the request's protocol.
func (e *Edge) refuse(x *exchange, err error) {
	x.Refusal = apierr.FromRequest(x.incoming.Context(), err, e.config.Unreachable)
	switch {
	case x.Status != 0:
	case x.protocol == ProtocolREST || x.protocol == ProtocolNone:
		WriteError(x, x.Refusal, e.config.Now())
	default:
		_ = e.errors.Write(x, x.incoming, x.callError())
	}
}
