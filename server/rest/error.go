package rest

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/wire"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// buffers hold bodies on their way in and out. A buffer that grew beyond an ordinary body is
// left to the collector.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

const maxPooledBytes = 64 << 10

func putBuffer(b *[]byte) {
	if cap(*b) <= maxPooledBytes {
		buffers.Put(b)
	}
}

// writeError answers with the specification's error body.
func (x *exchange) writeError() {
	buf := buffers.Get().(*[]byte)
	defer putBuffer(buf)
	now := x.edge.config.Now()
	*buf = appendError((*buf)[:0], x.refusal, x.id[0], now)

	h := x.writer.Header()
	x.keepOwnHeaders()
	x.setRefusalHeaders()
	h["Content-Type"] = contentTypeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(*buf))}
	x.transcoding, x.dropped = false, false
	x.WriteHeader(x.refusal.Status())
	_, _ = x.Write(*buf)
}

// WriteError answers with the specification's error body where no Edge does: on the operator's
// listener. The request's identifier is that of the header X-Request-Id, or a new one.
func WriteError(w http.ResponseWriter, r *apierr.Refusal, now time.Time) {
	h := w.Header()
	id := h.Get(headerRequestID)
	if id == "" {
		id = uuid.NewString()
	}
	body := appendError(nil, r, id, now)
	h[headerRequestID], h["Content-Type"], h["Content-Length"] = []string{id}, contentTypeJSON, []string{strconv.Itoa(len(body))}
	w.WriteHeader(r.Status())
	_, _ = w.Write(body)
}

// setRefusalHeaders writes the headers that go with the refusal's code on every face.
func (x *exchange) setRefusalHeaders() {
	h := x.writer.Header()
	switch x.refusal.Status() {
	case http.StatusUnauthorized:
		h[headerChallenge] = challenge
	case http.StatusTooManyRequests:
		h["Retry-After"] = h[headerReset]
	case http.StatusServiceUnavailable:
		h["Retry-After"] = retryAfter
	}
}

// appendError appends the specification's error body. Details are there only for the codes that
// have them, in the one shape of the code.
func appendError(b []byte, r *apierr.Refusal, requestID string, now time.Time) []byte {
	b = append(b, `{"statusCode":`...)
	b = strconv.AppendInt(b, int64(r.Status()), 10)
	b = append(b, `,"code":`...)
	b = wire.AppendString(b, string(r.Code))
	b = append(b, `,"message":`...)
	b = wire.AppendString(b, r.Message)
	if r.Details != nil {
		b = appendDetails(b, r.Code, r.Details)
	}
	b = append(b, `,"requestId":"`...)
	b = append(b, requestID...)
	b = append(b, `","timestamp":`...)
	b = wire.AppendTime(b, now)
	return append(b, '}')
}

func appendDetails(b []byte, code apierr.Code, d *storefrontv1.ErrorDetails) []byte {
	switch code {
	case apierr.InsufficientScope:
		b = append(b, `,"details":{"required":`...)
		b = wire.AppendString(b, d.GetRequired())
		return append(b, '}')
	case apierr.ValidationFailed:
		b = append(b, `,"details":{"fields":[`...)
		for i, f := range d.GetFields() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"field":`...)
			b = wire.AppendString(b, f.GetField())
			b = append(b, `,"message":`...)
			b = wire.AppendString(b, f.GetMessage())
			b = append(b, '}')
		}
		return append(b, `]}`...)
	case apierr.ProductIncomplete:
		b = append(b, `,"details":{"missing":[`...)
		for i, m := range d.GetMissing() {
			if i > 0 {
				b = append(b, ',')
			}
			b = wire.AppendString(b, m)
		}
		return append(b, `]}`...)
	default:
		return b
	}
}

func notFound() error {
	return apierr.New(apierr.NotFound, "There is nothing at this address.")
}

func methodNotAllowed() error {
	return apierr.New(apierr.MethodNotAllowed, "This address does not answer this method; see the Allow header.")
}

func unsupportedMediaType(message string) error {
	return apierr.New(apierr.UnsupportedMediaType, message)
}
