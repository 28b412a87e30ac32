package rpc

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// traced names the span that a call is part of, if there is one, and adds the request's identifier.
func (x *exchange) traced(r *http.Request) {
	s := trace.SpanFromContext(r.Context())
	if !s.IsRecording() {
		return
	}
	s.SetName(x.route)
	s.SetAttributes(attribute.String("storefront.request_id", x.request.ID.String()))
	if x.refusal != nil {
		s.SetAttributes(attribute.String("storefront.refusal", string(x.refusal.Code)))
	}
}
