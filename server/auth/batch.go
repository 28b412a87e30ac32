package auth

import (
	"context"
	"sync"
	"time"
)

// maxBatch is the most requests that share a statement.
const maxBatch = 128

// batches lets the requests that arrive while every connection is in use share the next statement:
//
//	a connection is free ──► asked alone, at once
//	none is ─────────────► waits ──► a statement returns ──► all that wait are asked in one
//
// So a busy database runs fewer statements, and an idle one answers without delay. On PostgreSQL, a
// statement of its own is cheaper than a share of one for a few requests. Goroutines may share it.
type batches struct {
	asker asker
	most  int // statements under way at a time

	mu       sync.Mutex
	underWay int
	waiting  []*waiter
}

// waiter is a request that waits for its answer.
type waiter struct {
	ctx      context.Context
	question question
	answered chan struct{} // closed once found and err are set
	found    finding
	err      error
}

// ask returns the answer to one question, or the cause of the context's end. A request whose context
// ends while its statement runs is counted all the same.
func (b *batches) ask(ctx context.Context, q question) (finding, error) {
	b.mu.Lock()
	if b.underWay < b.most {
		b.underWay++
		b.mu.Unlock()
		defer b.done()
		return b.asker.ask(ctx, q)
	}
	w := &waiter{ctx: ctx, question: q, answered: make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.mu.Unlock()
	select {
	case <-w.answered:
		return w.found, w.err
	case <-ctx.Done():
		return finding{}, context.Cause(ctx)
	}
}

// done asks for those who wait, the oldest first, after a statement has returned.
func (b *batches) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underWay--
	batch := make([]*waiter, 0, min(len(b.waiting), maxBatch))
	for len(b.waiting) > 0 && len(batch) < maxBatch {
		w := b.waiting[0]
		b.waiting = b.waiting[1:]
		if w.ctx.Err() == nil { // else nobody waits for the answer
			batch = append(batch, w)
		}
	}
	if len(batch) > 0 {
		b.underWay++
		go b.run(batch)
	}
}

// run asks one statement and hands out its answers.
func (b *batches) run(batch []*waiter) {
	defer b.done()
	ctx, cancel := contextOf(batch)
	defer cancel()
	questions := make([]question, len(batch))
	for i, w := range batch {
		questions[i] = w.question
	}
	found, err := b.asker.askAll(ctx, questions)
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
