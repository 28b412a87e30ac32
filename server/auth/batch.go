package auth

import (
	"context"
	"sync"
)

const (
	// maxBatch is the most requests that share a statement.
	maxBatch = 128
	// maxUnderWay is how many statements run at a time: two, so that one slow statement does not delay all requests.
	maxUnderWay = 2
)

// batcher collects the requests that arrive while statements run, and looks them up with one statement. A statement for sixteen
// keys costs a third of sixteen statements. On an idle server no request waits. If a statement fails, all its requests get the
// error. Goroutines may share it.
type batcher struct {
	run func(context.Context, []lookup) ([]lookupResult, error)

	mu       sync.Mutex
	waiting  []*waiter // oldest first
	underWay int
}

// waiter is a request that waits for its lookup's result.
type waiter struct {
	ctx      context.Context
	lookup   lookup
	answered chan struct{} // closed once found and err are set
	found    lookupResult
	err      error
}

// find returns the result of a lookup, or the cause of the context's end. If the context ends while the statement runs, the
// request is still counted.
func (b *batcher) find(ctx context.Context, q lookup) (lookupResult, error) {
	w := &waiter{ctx: ctx, lookup: q, answered: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	if b.underWay < maxUnderWay {
		b.underWay++
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

// serve runs statements until no request waits.
func (b *batcher) serve() {
	for {
		b.mu.Lock()
		next := b.waiting[:min(len(b.waiting), maxBatch)]
		b.waiting = b.waiting[len(next):]
		if len(next) == 0 {
			b.underWay--
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		answer(next, b.run)
	}
}

// answer runs one statement. The deadline of the last request ends it; the cancellation of a request does not.
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
