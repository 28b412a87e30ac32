package rest

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
)

// WriteError answers with the specification's error body; the operator's listener uses it too. The
// request's identifier is that of the header X-Request-Id, or a new one.
func WriteError(w http.ResponseWriter, r *apierr.Refusal, now time.Time) {
	h := w.Header()
	if h.Get(headerRequestID) == "" {
		h.Set(headerRequestID, uuid.NewString())
	}
	body := errorBody(r, h.Get(headerRequestID), now)
	h["Content-Type"], h["Content-Length"] = contentTypeJSON, number(len(body))
	w.WriteHeader(r.Status())
	_, _ = w.Write(body)
}

// setRefusalHeaders sets the headers of the refusal's code, which are the same in every protocol.
func (x *exchange) setRefusalHeaders() {
	h := x.writer.Header()
	switch x.refusal.Status() {
	case http.StatusUnauthorized:
		h[headerChallenge] = challenge
	case http.StatusTooManyRequests:
		h["Retry-After"] = h[headerReset]
	case http.StatusServiceUnavailable:
		h["Retry-After"] = []string{"1"}
	}
}

// errorBody is the specification's error body.
func errorBody(r *apierr.Refusal, requestID string, now time.Time) []byte {
	return fmt.Appendf(nil, `{"statusCode":%d,"code":"%s","message":%s%s,"requestId":"%s","timestamp":%s}`,
		r.Status(), r.Code, quoted(r.Message), details(r), requestID, wire.AppendTime(nil, now))
}

// details returns the member of that name, which only some codes have, in the form of its code.
func details(r *apierr.Refusal) string {
	d := r.Details
	switch {
	case d == nil:
		return ""
	case r.Code == apierr.InsufficientScope:
		return `,"details":{"required":` + quoted(d.GetRequired()) + `}`
	case r.Code == apierr.ValidationFailed:
		var fields []string
		for _, f := range d.GetFields() {
			fields = append(fields, `{"field":`+quoted(f.GetField())+`,"message":`+quoted(f.GetMessage())+`}`)
		}
		return `,"details":{"fields":[` + strings.Join(fields, ",") + `]}`
	case r.Code == apierr.ProductIncomplete:
		var missing []string
		for _, m := range d.GetMissing() {
			missing = append(missing, quoted(m))
		}
		return `,"details":{"missing":[` + strings.Join(missing, ",") + `]}`
	default:
		return ""
	}
}

func quoted(s string) string { return string(wire.AppendString(nil, s)) }

func notFound() error {
	return apierr.New(apierr.NotFound, "There is nothing at this address.")
}

func methodNotAllowed() *apierr.Refusal {
	return apierr.New(apierr.MethodNotAllowed, "This address does not answer this method; see the Allow header.")
}
