package rest

import (
	"context"
	"time"

	"go.storefront.example/server/apierr"
)

// DefaultTimeout is how long a request may take if Config sets nothing else.
const DefaultTimeout = 10 * time.Second

// grace is how long the work for a request continues after its caller has left or run out of time.
// Cancelling a statement costs the database more than finishing a short one: lib/pq drops the
// connection with it.
const grace = time.Second

// retryAfter is after how many seconds a client may retry after unavailable.
var retryAfter = []string{"1"}

// work returns the context for the work of a request. It ends when the request's time is over, with
// the cause apierr.ErrOutOfTime. If the caller leaves, or the caller's own time runs out, it ends
// with the caller's cause, but not before grace. It also ends with the exchange.
func (x *exchange) work(caller context.Context) context.Context {
	deadline := x.start.Add(x.edge.config.Timeout)
	if own, limited := caller.Deadline(); x.working && (!limited || !own.Before(deadline)) {
		return caller // it is already a child of the first such context
	}
	x.working = true
	outer, giveUp := context.WithCancelCause(context.WithoutCancel(caller))
	ctx, cancel := context.WithDeadlineCause(outer, deadline, apierr.ErrOutOfTime)
	unwatch := context.AfterFunc(caller, func() {
		cause := context.Cause(caller)
		if left := grace - time.Since(x.start); left > 0 {
			time.AfterFunc(left, func() { giveUp(cause) })
			return
		}
		giveUp(cause)
	})
	x.stop = append(x.stop, func() { unwatch(); cancel(); giveUp(nil) })
	return ctx
}

// endWork ends the contexts of the exchange's work, and its hold on the connection.
func (x *exchange) endWork() {
	for _, stop := range x.stop {
		stop()
	}
}
