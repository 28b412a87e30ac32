package auth

import (
	"context"
	"sync"
)

const (
	// maxBatch is how many requests one statement looks up at most.
	maxBatch = 128
	// maxRunning is how many statements run at a time: two, so that one slow statement does not delay all requests.
	maxRunning = 2
)

// batcher collects the requests that arrive while its statements run, and looks up the keys of all of them with the next
// statement. One statement for sixteen keys takes a third of the time of sixteen statements. On an idle server no request
// waits for others. If a statement fails, all its requests get the error. Goroutines may share a batcher.
type batcher struct {
	run func(context.Context, []lookup) ([]lookupResult, error)

	mu      sync.Mutex
	waiting []*waiter // oldest first
	running int
}

// waiter is a request that waits for the result of its lookup.
type waiter struct {
	ctx      context.Context
	lookup   lookup
	answered chan struct{} // closed once found and err are set
	found    lookupResult
	err      error
}

// find returns the result of a lookup. If ctx ends before the result is known, find returns the context's cause, and the
// request still counts.
func (b *batcher) find(ctx context.Context, q lookup) (lookupResult, error) {
	w := &waiter{ctx: ctx, lookup: q, answered: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	if b.running < maxRunning {
		b.running++
		go b.serve()
	}
	b.mu.Unlock()
	select {
	case <-w.answered:
		return w.found, w.err
	case <-ctx.Done():
		return lookupResult{}, context.Cause(ctx)
	}
}

// serve looks up the keys of the waiting requests, at most maxBatch with one statement, until no request waits.
func (b *batcher) serve() {
	for {
		b.mu.Lock()
		next := b.waiting[:min(len(b.waiting), maxBatch)]
		b.waiting = b.waiting[len(next):]
		if len(next) == 0 {
			b.running--
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		answer(next, b.run)
	}
}

// answer looks up the keys of several requests with one statement. The deadline of the last request limits the statement.
// The statement continues if a request is cancelled.
func answer(all []*waiter, run func(context.Context, []lookup) ([]lookupResult, error)) {
	last := all[len(all)-1].ctx
	ctx := context.WithoutCancel(last)
	if deadline, ok := last.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	lookups := make([]lookup, len(all))
	for i, w := range all {
		lookups[i] = w.lookup
	}
	found, err := run(ctx, lookups)
	for i, w := range all {
		if w.err = err; err == nil {
			w.found = found[i]
		}
		close(w.answered)
	}
}
