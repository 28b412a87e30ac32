package edge

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/httplog"
)

// WriteError writes the specification's error body, on both listeners, with the request id in X-Request-Id or a new one.
func WriteError(w http.ResponseWriter, r *apierr.Refusal, now time.Time) {
	h := w.Header()
	if h.Get(httplog.HeaderRequestID) == "" {
		h.Set(httplog.HeaderRequestID, uuid.NewString())
	}
	body := appendError(nil, r.Body(h.Get(httplog.HeaderRequestID), now))
	h["Content-Type"], h["Content-Length"] = contentTypeJSON, headerNumber(len(body))
	w.WriteHeader(r.Status())
	_, _ = w.Write(body)
}

func appendError(b []byte, e *storefrontv1.Error) []byte {
	return fmt.Appendf(b, `{"statusCode":%d,"code":"%s","message":%s%s,"requestId":"%s","timestamp":%s}`,
		e.GetStatusCode(), e.GetCode(), quoted(e.GetMessage()), details(e), e.GetRequestId(), apijson.AppendTime(nil,
			e.GetTimestamp().AsTime()))
}

// details returns the member "details" as JSON, or "".
func details(e *storefrontv1.Error) string {
	d := e.GetDetails()
	if d == nil {
		return ""
	}
	switch apierr.Code(e.GetCode()) {
	case apierr.InsufficientScope:
		return `,"details":{"required":` + quoted(d.GetRequired()) + `}`
	case apierr.ValidationFailed:
		var fields []string
		for _, f := range d.GetFields() {
			fields = append(fields, `{"field":`+quoted(f.GetField())+`,"message":`+quoted(f.GetMessage())+`}`)
		}
		return `,"details":{"fields":[` + strings.Join(fields, ",") + `]}`
	case apierr.ProductIncomplete:
		var missing []string
		for _, m := range d.GetMissing() {
			missing = append(missing, quoted(m))
		}
		return `,"details":{"missing":[` + strings.Join(missing, ",") + `]}`
	default:
		return ""
	}
}

func quoted(s string) string { return string(apijson.AppendString(nil, s)) }

func notFound() error {
	return apierr.New(apierr.NotFound, "There is nothing at this address.")
}

func methodNotAllowed() *apierr.Refusal {
	return apierr.New(apierr.MethodNotAllowed, "This address does not answer this method; see the Allow header.")
}
