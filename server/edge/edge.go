// Package edge owns everything on the wire of the public listener: which requests are served, in
// which of the four protocols (REST JSON under /v1, Connect, gRPC, gRPC-Web), and the exact form of
// every answer.
//
// The order of the checks of a request under /v1 is part of the contract; the first that fails
// determines the answer:
//
//	address limit → key → counter → store state → path and method → scope →
//	media type and size → body and query → existence → rules
//
//	request ─► Edge: id, key, rate ─► method, scope ─► media type, size ─► check: query, body ─► vanguard ─► Connect ─► slot ─► handler
//
// Vanguard finds the method of a request under /v1, binds path, query and body, and calls Connect in the binary format. The
// answer and the error body are written with the codec. Before that, check refuses everything that vanguard is too lenient
// about, in one answer.
//
// Every answer has X-RateLimit-Limit, -Remaining, -Reset and X-Request-Id. Every refusal under /v1
// has the specification's error body; in the other protocols it is the protocol's own error with a
// storefront.v1.Error as its detail. No CORS header is ever sent. The cause of a service error goes
// to the log, never to the client.
//
// The package contains no rule of a resource, never reads the database, and handles no key beyond its principal. net/http
// itself answers malformed HTTP and headers over the limit.
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
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/httplog"
	"go.storefront.example/server/limit"
)

// MaxBodyBytes is the size of the largest request body that is read, in every protocol: 1 MiB.
const MaxBodyBytes = 1 << 20

// Gate admits requests: it counts the request and returns the owner of its key. The rate is always set; the principal is set
// whenever the key exists, even with a refusal. The error is an *apierr.Refusal or a failure of the service.
type Gate interface {
	Admit(ctx context.Context, authorization []string, address netip.Addr) (auth.Principal, limit.Rate, error)
}

// Service is an RPC service: its path prefix, such as /storefront.v1.ProductService/, and its handler, as generated New…Handler
// functions return them.
type Service struct {
	Path    string
	Handler http.Handler
}

// Config configures an Edge. Gate, ExplainInvalid, Services, Slots, Logger, Unreachable and Now are required.
type Config struct {
	// Gate admits every request under /v1 and every call of Services.
	Gate Gate
	// ExplainInvalid returns the refusal of a request that could not be decoded. It applies the rules that need only the
	// request and the store, and adds the fields that the decoder refused. The message holds the valid fields. It is not called
	// for decoded requests, because their handlers apply the same rules.
	ExplainInvalid func(ctx context.Context, m proto.Message, invalid *apijson.Invalid) error
	// Services returns the handlers of the API with the given options.
	Services func(opts ...connect.HandlerOption) []Service
	// Keyless returns, by path, the procedures that need no key (health and reflection), with the given options. Nil means
	// none.
	Keyless func(opts ...connect.HandlerOption) map[string]http.Handler
	// TrustedProxies are the peers whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Logger gets one line for each request.
	Logger *slog.Logger
	// Traces makes the spans of requests; nil makes none. A client's traceparent becomes a link,
	// because a client must not decide whether the service samples a request or in which trace.
	Traces trace.TracerProvider
	// Observe is called once for each request, after the answer, for metrics. It may be nil and must not block.
	Observe func(Request)
	// Timeout is how long a request may take until it is answered, if necessary by 503; 0 means DefaultTimeout.
	Timeout time.Duration
	// Slots bounds how many requests work on the database at a time; others wait, or are refused with unavailable.
	Slots *limit.Slots
	// Unreachable reports whether an error means that the database is unavailable.
	Unreachable func(error) bool
	// Now is the clock for the dates of errors and the windows of limits; durations are measured
	// separately.
	Now func() time.Time
}

// Edge is the handler of the public listener. Goroutines may share it.
type Edge struct {
	config     Config
	methods    map[string]*method // by procedure
	routes     *http.ServeMux     // matches a verb and path under /v1 to a method
	transcoder http.Handler       // turns REST into calls of the typed protocols' handlers
	compress   func(http.Handler) http.HandlerFunc
	streaming  context.Context
	endStreams context.CancelFunc
	errors     *connect.ErrorWriter
}

// New returns the edge for the configured services. It returns an error if a service has no descriptor,
// no scope or no HTTP binding that vanguard serves.
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

// EndStreams ends all streams and refuses new ones with unavailable. A stopping server calls it, because a stream may last as
// long as its caller likes.
func (e *Edge) EndStreams() { e.endStreams() }

// Patterns lists every address that the edge serves: the templates under /v1 and the procedures,
// each with a method.
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

// ServeHTTP answers one request. The request's route in logs and metrics is a procedure or a template, never text from the
// client.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		Exchange: httplog.Begin(w), edge: e, protocol: ProtocolNone, rate: limit.Uncounted(e.config.Now()), address: e.address(r),
	}
	x.Method = knownMethod(r.Method)
	ctx, cancel := context.WithTimeoutCause(context.WithValue(r.Context(), exchangeKey{}, x), e.config.Timeout, apierr.ErrOutOfTime)
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

// serve finds the method of a request, admits its key and serves it, or returns why it is refused.
func (e *Edge) serve(x *exchange, r *http.Request) error {
	path, allow := cmp.Or(r.URL.RawPath, r.URL.Path), ""
	if path == "/v1" || strings.HasPrefix(path, "/v1/") {
		x.protocol = ProtocolREST
		if x.called, allow = e.find(r.Method, path); x.called != nil {
			x.Route = x.called.template
		}
	} else {
		if x.called = e.methods[path]; x.called == nil {
			return notFound()
		}
		x.protocol, x.Route = protocolOf(r), path
		if x.called.scope == "" {
			e.serveKeyless(x, r)
			return nil
		}
	}
	principal, rate, err := e.config.Gate.Admit(r.Context(), r.Header["Authorization"], x.address)
	x.principal, x.rate = principal, rate
	switch {
	case err != nil:
		return err
	case x.called == nil:
		return notFound()
	case allow != "":
		x.Header()["Allow"] = []string{allow}
		return methodNotAllowed()
	}
	if err := principal.Require(x.called.scope); err != nil {
		return err
	}
	r = r.WithContext(tenant.With(r.Context(), principal.Store, principal.Actor()))
	if x.protocol == ProtocolREST {
		return e.serveREST(x, r, path)
	}
	return e.serveCall(x, r)
}

// refuse sends the refusal for an error, in the form of the protocol.
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
