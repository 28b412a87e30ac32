package tenant

import (
	"context"

	"github.com/google/uuid"
)

// maxEvents is how many events of one request its log line names at most.
const maxEvents = 10

// Request is the request that caused a change. Events carry its id, to join the log lines of the request and of its deliveries.
// Only one goroutine uses it at a time.
type Request struct {
	// ID is the request id that the caller got.
	ID uuid.UUID
	// Events are the first committed events that the request caused, in order; at most maxEvents.
	Events []uuid.UUID
}

// WithRequest sets the request of the context's call.
func WithRequest(ctx context.Context, r *Request) context.Context {
	c := CallOf(ctx)
	c.Request = r
	return WithCall(ctx, c)
}

// AddEvents adds committed events up to maxEvents. A nil r does nothing.
func (r *Request) AddEvents(events ...uuid.UUID) {
	if r == nil {
		return
	}
	r.Events = append(r.Events, events[:min(len(events), maxEvents-len(r.Events))]...)
}
