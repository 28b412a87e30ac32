package edge

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.storefront.example/server/apierr"
)

// Protocol is the protocol of a request.
type Protocol string

// ProtocolNone means that the address is unknown, or the request is in none of the protocols.
const (
	ProtocolNone    Protocol = "none"
	ProtocolREST    Protocol = "rest"
	ProtocolConnect Protocol = "connect"
	ProtocolGRPC    Protocol = "grpc"
	ProtocolGRPCWeb Protocol = "grpc-web"
)

// LimitKey and LimitAddress are the values of Request.Limit (specification, Limits).
const (
	LimitKey     = "key"
	LimitAddress = "address"
)

// Request describes a request for metrics and for the log of refused requests. Its texts have few possible values, so that
// metrics may use them as labels.
type Request struct {
	Protocol Protocol
	// Method is the HTTP method, or OTHER for an unknown one.
	Method string
	// Route is the path's template, the name of the RPC, or "unmatched".
	Route string
	// Status is the HTTP status that was sent, 0 if the connection broke, and 499 if the caller left or its own deadline passed.
	Status int
	// Code is the refusal's code, or empty.
	Code string
	// Limit is LimitKey or LimitAddress if the request exceeded it, otherwise empty.
	Limit    string
	Duration time.Duration

	// StoreID and KeyID are uuid.Nil if the key is unknown.
	StoreID, KeyID, RequestID uuid.UUID
	// Fields are the refused fields or scopes, without names that the caller has invented, because they are stored and may be
	// personal data.
	Fields []string
}

// finish writes the log line, ends the span and calls the observer, even if one of these panics. A request whose caller left
// counts as 499, whatever was sent.
func (e *Edge) finish(x *exchange) {
	defer x.RecoverEnd(e.config.Logger)
	request := Request{
		Protocol: x.protocol, Method: x.Method, Route: x.Route, Status: x.Status, Duration: x.Duration(),
		StoreID: x.principal.Store.ID, KeyID: x.principal.KeyID, RequestID: x.Request.ID,
	}
	if x.Refusal != nil {
		x.addRefusal(&request)
	}
	if e.config.Observe != nil {
		defer e.config.Observe(request)
	}
	if x.Span != nil {
		defer x.Span.End()
	}
	e.log(x, request)
}

// addRefusal sets the code, the exceeded limit, and the refused fields or scope. A request over the address limit has no
// principal, because the gate checks that limit before it looks up the key.
func (x *exchange) addRefusal(request *Request) {
	request.Code = string(x.Refusal.Code)
	if x.Refusal.CallerGaveUp() {
		request.Status = apierr.StatusClientClosedRequest
	}
	switch {
	case x.Refusal.Code != apierr.RateLimited:
	case x.principal.KeyID == uuid.Nil:
		request.Limit = LimitAddress
	default:
		request.Limit = LimitKey
	}
	details := x.Refusal.Details
	request.Fields = slices.Clone(details.GetMissing())
	for _, f := range details.GetFields() {
		if name := knownName(f.GetField()); name != "" && !slices.Contains(request.Fields, name) {
			request.Fields = append(request.Fields, name)
		}
	}
	if scope := details.GetRequired(); scope != "" {
		request.Fields = append(request.Fields, scope)
	}
}

// knownName returns the beginning of a refused field's name that is a field of the API, or "".
func knownName(name string) string {
	if at := strings.IndexAny(name, ".["); at >= 0 {
		name = name[:at]
	}
	if !fieldNames()[name] {
		return ""
	}
	return name
}

var fieldNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	protoregistry.GlobalFiles.RangeFilesByPackage("storefront.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Messages().Len() {
			fields := file.Messages().Get(i).Fields()
			for i := range fields.Len() {
				names[fields.Get(i).JSONName()], names[fields.Get(i).TextName()] = true, true
			}
		}
		return true
	})
	return names
})

// log also completes the span. Neither shows data that the client sent; the line shows the client's address.
func (e *Edge) log(x *exchange, request Request) {
	var added [4]slog.Attr
	attrs := append(added[:0], slog.String("protocol", string(x.protocol)))
	if x.principal.KeyID != uuid.Nil {
		attrs = append(attrs, slog.String("store", x.principal.Store.Slug), slog.String("key_id", x.principal.KeyID.String()))
	}
	if x.address.IsValid() {
		attrs = append(attrs, slog.String("address", x.address.String()))
	}
	if x.Span != nil {
		x.Span.SetAttributes(attribute.String("storefront.protocol", string(x.protocol)))
		if x.principal.KeyID != uuid.Nil {
			x.Span.SetAttributes(attribute.String("storefront.store", x.principal.Store.Slug))
		}
	}
	x.End(x.incoming.Context(), e.config.Logger, "request", request.Status, attrs...)
}

var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete,
	http.MethodOptions, http.MethodConnect, http.MethodTrace,
}

// knownMethod keeps clients from adding values to the metrics.
func knownMethod(method string) string {
	if slices.Contains(knownMethods, method) {
		return method
	}
	return "OTHER"
}
