// Package overload decides which requests are served now, which wait, and which are refused before
// they cost anything. It holds no request, reads no database and depends on no protocol.
//
//	Enter ──► a slot is free, and the party has less than its share ──► served ──► Leave
//	  │
//	  └─► waits ──► a slot becomes free: the oldest who may have it is served
//	        │
//	        ├─► waited too long, or no place to wait is left: Refused
//	        └─► its context ended
//
// Every request belongs to a party, such as a store. One party never holds more than its share of
// the slots, nor more than half of the waiting places, so that one greedy store cannot crowd out
// the others.
//
// Under overload a long queue ends up serving only requests whose callers have already gone. So
// waits get shorter once the queue has stood for a while: from burstWait to a few times the
// duration of a request (controlled delay: Maurer, Fail at Scale, ACM Queue 13(8), 2015). TurnAway says
// beforehand which requests would wait in vain, for a caller that can refuse them cheaper than Enter's.
package overload

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// standingAfter is how long requests must have waited without a pause before the queue counts as
	// standing.
	standingAfter = 100 * time.Millisecond
	// burstWait is the longest wait in a new queue.
	burstWait = 3 * time.Second
	// leastWait and mostWait bound the wait in a standing queue, which is waitFactor times the
	// average duration of a request.
	leastWait  = 50 * time.Millisecond
	mostWait   = time.Second
	waitFactor = 4
	// averageOf is about how many requests the average covers.
	averageOf = 16
)

// ErrRefused is the error of Enter for a request that cannot be served in time.
var ErrRefused = errors.New("too many requests wait already")

// Party is the owner of a request. The zero Party is one like any other.
type Party = uuid.UUID

// Limiter gives slots to requests. Goroutines share it.
type Limiter struct {
	slots, share, places int

	mu      sync.Mutex
	running int
	waiting int
	parties map[Party]*party
	// newest and oldest are the ends of the queue.
	newest, oldest *waiter
	// saturated is since when requests have waited while no slot was free; zero if none do.
	saturated time.Time
	average   time.Duration
	refused   uint64
}

// party holds the state of one party. It is kept while it holds anything.
type party struct {
	running, waiting int
	// queued is since when some request of the party has waited; zero if none does.
	queued  time.Time
	average time.Duration
}

// waiter is a request in the queue.
type waiter struct {
	party        Party
	newer, older *waiter
	// served is closed once the request has its slot.
	served chan struct{}
	given  bool
}

// New returns a limiter that serves up to slots requests at a time, at most share of one party, and
// lets up to places wait, at most half of them of one party. slots and share are at least one.
func New(slots, share, places int) *Limiter {
	return &Limiter{slots: max(slots, 1), share: max(share, 1), places: places, parties: map[Party]*party{}}
}

// Enter waits for a slot. It returns ErrRefused if the request cannot be served in time, or the
// context's cause if that ends first. After nil the caller calls Leave once.
func (l *Limiter) Enter(ctx context.Context, who Party) error { return l.enter(ctx, who, 0) }

// Reenter is Enter for a request that had a slot before and gave it back. It has cost something
// already, so it may wait as long as in a new queue.
func (l *Limiter) Reenter(ctx context.Context, who Party) error { return l.enter(ctx, who, burstWait) }

// enter waits for a slot as long as the queue allows, and at least as long as least.
func (l *Limiter) enter(ctx context.Context, who Party, least time.Duration) error {
	now := time.Now()
	l.mu.Lock()
	p := l.party(who)
	if l.running < l.slots && p.running < l.share {
		l.running++
		p.running++
		l.mu.Unlock()
		return nil
	}
	if l.waiting >= l.places || p.waiting >= l.places/2 {
		l.refused++
		l.forget(who, p)
		l.mu.Unlock()
		return ErrRefused
	}
	limit := max(l.limit(p, now), least)
	w := l.queue(who, p, now)
	l.mu.Unlock()

	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-w.served:
		return nil
	case <-timer.C:
		return l.abandon(w, ErrRefused)
	case <-ctx.Done():
		return l.abandon(w, context.Cause(ctx))
	}
}

// TurnAway reports whether a request that comes now had better be refused before it is read, and counts it as
// refused then: the queue stands, those before it take leastWait or longer, and it is not the only one of its party.
func (l *Limiter) TurnAway(who Party) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.parties[who]
	if p == nil || p.running+p.waiting == 0 {
		return false
	}
	since, average, ahead, slots := l.saturated, l.average, l.waiting, l.slots
	if p.running >= l.share {
		since, average, ahead, slots = p.queued, p.average, p.waiting, l.share
	}
	if since.IsZero() || now.Sub(since) < standingAfter || time.Duration(ahead)*average < leastWait*time.Duration(slots) {
		return false
	}
	l.refused++
	return true
}

// Leave gives back the slot of a request that took that long.
func (l *Limiter) Leave(who Party, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.parties[who]
	l.running--
	p.running--
	l.average = mean(l.average, took)
	p.average = mean(p.average, took)
	l.serve()
	l.forget(who, p)
}

// Load is the state of a limiter.
type Load struct {
	// Running requests have a slot; Waiting ones wait for one.
	Running, Waiting int
	// Refused is how many were refused since the start.
	Refused uint64
}

// Load returns the present state.
func (l *Limiter) Load() Load {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Load{l.running, l.waiting, l.refused}
}

func (l *Limiter) party(who Party) *party {
	p := l.parties[who]
	if p == nil {
		p = &party{}
		l.parties[who] = p
	}
	return p
}

// forget drops a party that holds nothing.
func (l *Limiter) forget(who Party, p *party) {
	if p.running == 0 && p.waiting == 0 {
		delete(l.parties, who)
	}
}

// limit is how long a request that starts to wait now may wait: for a slot, or, if the party has
// its share already, for one of the party's own slots.
func (l *Limiter) limit(p *party, now time.Time) time.Duration {
	since, average := l.saturated, l.average
	if p.running >= l.share {
		since, average = p.queued, p.average
	}
	if since.IsZero() || now.Sub(since) < standingAfter {
		return burstWait
	}
	return min(max(waitFactor*average, leastWait), mostWait)
}

// queue adds a waiter.
func (l *Limiter) queue(who Party, p *party, now time.Time) *waiter {
	w := &waiter{party: who, served: make(chan struct{}), older: l.newest}
	if l.newest != nil {
		l.newest.newer = w
	} else {
		l.oldest = w
	}
	l.newest = w
	l.waiting++
	if p.waiting++; p.waiting == 1 {
		p.queued = now
	}
	if l.running >= l.slots && l.saturated.IsZero() {
		l.saturated = now
	}
	return w
}

// remove takes a waiter out of the queue.
func (l *Limiter) remove(w *waiter) *party {
	if w.newer != nil {
		w.newer.older = w.older
	} else {
		l.newest = w.older
	}
	if w.older != nil {
		w.older.newer = w.newer
	} else {
		l.oldest = w.newer
	}
	l.waiting--
	p := l.parties[w.party]
	if p.waiting--; p.waiting == 0 {
		p.queued = time.Time{}
	}
	return p
}

// serve gives free slots to waiting requests.
func (l *Limiter) serve() {
	for l.running < l.slots {
		w := l.next()
		if w == nil {
			// A slot is free, so the remaining requests wait for their own party.
			l.saturated = time.Time{}
			return
		}
		p := l.remove(w)
		l.running++
		p.running++
		w.given = true
		close(w.served)
	}
}

// next returns the oldest request that may be served, nil if none may. Those it passes over belong
// to parties that have their share, which are few.
func (l *Limiter) next() *waiter {
	w := l.oldest
	for w != nil && l.parties[w.party].running >= l.share {
		w = w.newer
	}
	return w
}

// abandon removes a request that will not be served. One that got its slot at the same moment keeps
// it.
func (l *Limiter) abandon(w *waiter, cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.given {
		return nil
	}
	if errors.Is(cause, ErrRefused) {
		l.refused++
	}
	l.forget(w.party, l.remove(w))
	if l.waiting == 0 {
		l.saturated = time.Time{}
	}
	return cause
}

// mean moves an average towards a new value.
func mean(average, took time.Duration) time.Duration {
	if average == 0 {
		return took
	}
	return average + (took-average)/averageOf
}
