package auth

import (
	"context"
	"sync"
	"time"

	"go.storefront.example/ent/db"
)

// maxBatch is the most requests that share a statement.
const maxBatch = 128

// maxWait is how long requests wait for a statement under way before they start another.
const maxWait = 5 * time.Millisecond

// batches lets the requests that arrive while a statement is under way share the next one:
//
//	none is under way ──► runs alone, at once
//	one is ─────────────► waits ──► it returns ──► one statement for all that wait
//
// So a busy database runs fewer statements: one for four requests costs it little more than half of four,
// one for sixteen a third of sixteen. On an idle one no request waits. If a statement waits for a lock,
// other requests wait for it for maxWait at most, and a shared one fails after 100 ms. When a shared
// statement fails, each of its requests runs alone, unless the database is away: so the fault of one key
// does not reach the others. Goroutines may share it.
type batches struct {
	alone keyStore
	all   func(context.Context, []lookup) ([]result, error) // nil if nothing is shared
	most  int                                               // statements under way at a time

	mu       sync.Mutex
	underWay int
	busy     bool // a statement is under way that began less than maxWait ago
	waiting  []*waiter
}

// waiter is a request that waits for its result.
type waiter struct {
	ctx      context.Context
	lookup   lookup
	answered chan struct{} // closed once found and err are set
	found    result
	err      error
}

// find returns the result of a look-up, or the cause of the context's end. If the context ends while the
// statement runs, the request is still counted. Only look-ups of known keys share: a shared statement that
// does not find the key is followed by one of its own.
func (b *batches) find(ctx context.Context, q lookup) (result, error) {
	if b.all == nil || q.malformed {
		return b.alone.find(ctx, q)
	}
	b.mu.Lock()
	if b.free() {
		leave := b.enter()
		b.mu.Unlock()
		defer leave()
		return b.alone.find(ctx, q)
	}
	w := &waiter{ctx: ctx, lookup: q, answered: make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.mu.Unlock()
	select {
	case <-w.answered:
		if w.err == nil && !w.found.known || w.err != nil && (db.IsLocked(w.err) || !db.IsUnreachable(w.err)) {
			return b.alone.find(ctx, q)
		}
		return w.found, w.err
	case <-ctx.Done():
		return result{}, context.Cause(ctx)
	}
}

// free reports whether a statement may start. Callers hold mu.
func (b *batches) free() bool { return !b.busy && b.underWay < b.most }

// enter starts a statement; leave ends it. Callers of enter hold mu.
func (b *batches) enter() (leave func()) {
	b.underWay++
	b.busy = true
	late := time.AfterFunc(maxWait, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.busy = false
		b.next()
	})
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.underWay--
		if late.Stop() {
			b.busy = false
		}
		b.next()
	}
}

// next starts a statement for the requests that wait, oldest first, if one may start. Callers hold mu.
func (b *batches) next() {
	if !b.free() {
		return
	}
	batch := make([]*waiter, 0, min(len(b.waiting), maxBatch))
	for len(b.waiting) > 0 && len(batch) < maxBatch {
		w := b.waiting[0]
		b.waiting[0], b.waiting = nil, b.waiting[1:]
		if w.ctx.Err() == nil { // else nobody waits for the answer
			batch = append(batch, w)
		}
	}
	if len(batch) > 0 {
		go b.run(batch, b.enter())
	}
}

// run runs a shared statement and hands out its results.
func (b *batches) run(batch []*waiter, leave func()) {
	defer leave()
	ctx, cancel := contextOf(batch)
	defer cancel()
	lookups := make([]lookup, len(batch))
	for i, w := range batch {
		lookups[i] = w.lookup
	}
	found, err := b.all(ctx, lookups)
	for i, w := range batch {
		if w.err = err; err == nil {
			w.found = found[i]
		}
		close(w.answered)
	}
}

// contextOf is the context of a statement that several requests share: it ends with the last of their
// deadlines, and its span belongs to the oldest request's trace.
func contextOf(batch []*waiter) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(batch[0].ctx)
	var last time.Time
	for _, w := range batch {
		deadline, ok := w.ctx.Deadline()
		if !ok {
			return ctx, func() {}
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	return context.WithDeadline(ctx, last)
}
