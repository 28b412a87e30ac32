package auth

import (
	"context"
	"sync"
	"time"
)

const (
	// maxBatch is the most requests that share a statement.
	maxBatch = 128
	// overdueAfter is how long a request waits for the statement under way before a second one may
	// start beside it: a statement that a lock holds up must not hold up every request.
	overdueAfter = 20 * time.Millisecond
)

// batches lets the requests that arrive while a statement is under way share the next one:
//
//	no statement under way ──► asked alone, at once
//	one is under way ────────► waits ──► it returns ──► all that wait are asked in one statement
//	                             └─► it is overdue ──► another starts beside it, up to most
//
// A busy database is so asked less often, and an idle one without delay. Goroutines may share it.
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
	if b.underWay == 0 {
		b.underWay++
		b.mu.Unlock()
		defer b.done()
		return b.asker.ask(ctx, q)
	}
	w := &waiter{ctx: ctx, question: q, answered: make(chan struct{})}
	b.waiting = append(b.waiting, w)
	if len(b.waiting) == 1 && b.most > 1 {
		time.AfterFunc(overdueAfter, func() { b.overdue(w) })
	}
	b.mu.Unlock()
	select {
	case <-w.answered:
		return w.found, w.err
	case <-ctx.Done():
		return finding{}, context.Cause(ctx)
	}
}

// done starts the next statement after one has returned.
func (b *batches) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underWay--
	b.start()
}

// overdue starts a statement beside the one under way if w still waits.
func (b *batches) overdue(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 && b.waiting[0] == w {
		b.start()
	}
}

// start asks for those who wait, the oldest first; callers hold mu.
func (b *batches) start() {
	batch := make([]*waiter, 0, min(len(b.waiting), maxBatch))
	for len(b.waiting) > 0 && len(batch) < maxBatch && b.underWay < b.most {
		w := b.waiting[0]
		b.waiting = b.waiting[1:]
		if w.ctx.Err() == nil { // else nobody waits for the answer
			batch = append(batch, w)
		}
	}
	if len(batch) == 0 {
		return
	}
	b.underWay++
	if len(b.waiting) > 0 && b.most > 1 {
		first := b.waiting[0]
		time.AfterFunc(overdueAfter, func() { b.overdue(first) })
	}
	go b.run(batch)
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
