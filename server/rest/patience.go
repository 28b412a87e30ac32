package rest

import (
	"context"
	"time"

	"go.storefront.example/server/apierr"
)

// DefaultTimeout is how long a request may take unless Config has another time.
const DefaultTimeout = 10 * time.Second

// grace is how long the work for a request goes on after its caller has left or run out of time.
// Ending a statement half-way costs the database more than letting a short one end: lib/pq gives up
// the connection with it.
const grace = time.Second

// retryAfter is how many seconds a client waits before it tries again after unavailable.
var retryAfter = []string{"1"}

// work returns the context that the work for a request is done under: it ends with the time of the
// request, for which the cause is apierr.ErrOutOfTime, but not before grace when the caller leaves
// or the caller's own time runs out, with the caller's cause. It ends with the exchange.
func (x *exchange) work(caller context.Context) context.Context {
	deadline := x.start.Add(x.edge.config.Timeout)
	if own, limited := caller.Deadline(); x.working && (!limited || !own.Before(deadline)) {
		return caller // it descends from the first such context, and nobody has shortened it
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

// endWork ends the contexts of the exchange's work.
func (x *exchange) endWork() {
	for _, stop := range x.stop {
		stop()
	}
}
