package tenant

import (
	"context"

	"github.com/google/uuid"
)

// maxNoted bounds how many events of one request its log line names.
const maxNoted = 10

// Request is the request that a change is made for: events carry its id, so that the log lines of
// the request and of the deliveries it led to can be joined. One goroutine uses it at a time.
type Request struct {
	// ID is the request's identifier, as its caller was told it.
	ID uuid.UUID
	// Events are the first events that it caused, committed, in their order: at most ten.
	Events []uuid.UUID
}

type requestKey struct{}

// WithRequest returns a context whose changes are made for the request.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf returns the request that a change is made for, nil when it is made for none, as by a
// command on this machine.
func RequestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// Caused notes events that were committed. A nil request notes nothing.
func (r *Request) Caused(events ...uuid.UUID) {
	if r == nil {
		return
	}
	r.Events = append(r.Events, events[:min(len(events), maxNoted-len(r.Events))]...)
}
