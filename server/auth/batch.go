package auth

import (
	"context"
	"sync"
	"time"

	"go.storefront.example/ent/db"
)

// maxBatch is the most requests that share a statement.
const maxBatch = 128

// keeps is how long a statement keeps others waiting.
const keeps = 5 * time.Millisecond

// batches lets the requests that arrive while a statement is under way share the next one:
//
//	none is under way ──► asked alone, at once
//	one is ─────────────► waits ──► it returns ──► all that wait are asked in one
//
// So a busy database runs fewer statements: four requests that share one cost it little more than half of
// four, sixteen a third. An idle one answers without delay. A statement that takes long, because somebody
// holds a lock, does not keep others waiting; a shared one soon gives up altogether.
// Those who shared a statement that failed are asked alone, unless the database is away: what is wrong with
// one key stays its own. Goroutines may share it.
type batches struct {
	alone asker
	all   func(context.Context, []question) ([]finding, error) // nil if nothing is shared
	most  int                                                  // statements under way at a time

	mu       sync.Mutex
	underWay int
	busy     bool // with a statement that keeps others waiting
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
// ends while its statement runs is counted all the same. Known keys share: a question about another is asked
// again, alone.
func (b *batches) ask(ctx context.Context, q question) (finding, error) {
	if b.all == nil || q.malformed {
		return b.alone.ask(ctx, q)
	}
	b.mu.Lock()
	if b.free() {
		leave := b.enter()
		b.mu.Unlock()
		defer leave()
		return b.alone.ask(ctx, q)
	}
	w := &waiter{ctx: ctx, question: q, answered: make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.mu.Unlock()
	select {
	case <-w.answered:
		if w.err == nil && !w.found.known || w.err != nil && (db.IsLocked(w.err) || !db.IsUnreachable(w.err)) {
			return b.alone.ask(ctx, q)
		}
		return w.found, w.err
	case <-ctx.Done():
		return finding{}, context.Cause(ctx)
	}
}

// free reports whether a statement may start. Callers hold mu.
func (b *batches) free() bool { return !b.busy && b.underWay < b.most }

// enter starts a statement; leave ends it. Callers of enter hold mu.
func (b *batches) enter() (leave func()) {
	b.underWay++
	b.busy = true
	late := time.AfterFunc(keeps, func() {
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

// next asks for those who wait, the oldest first, if a statement may start. Callers hold mu.
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

// run asks one statement and hands out its answers.
func (b *batches) run(batch []*waiter, leave func()) {
	defer leave()
	ctx, cancel := contextOf(batch)
	defer cancel()
	questions := make([]question, len(batch))
	for i, w := range batch {
		questions[i] = w.question
	}
	found, err := b.all(ctx, questions)
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
