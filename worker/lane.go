package worker

import (
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/queue"
)

const (
	// firstWindow is how many concurrent attempts a new webhook may have.
	firstWindow = 4
	// minWindow is the smallest window after failures.
	minWindow = 2
	// claimBatch is how many deliveries one claim leases: few, so that the last attempt begins soon after
	// the first.
	claimBatch = 32
	// forgetAfter is how long the state of a webhook without work is kept.
	forgetAfter = 10 * time.Minute
)

// lanePool holds a worker's state of each webhook with work, and bounds concurrent attempts: in total, per
// store, per webhook, and of all webhooks whose last attempt did not succeed. One goroutine uses it.
type lanePool struct {
	widest   int // largest window of a webhook
	perStore int
	total    int
	inFlight int
	// unprovenLimit is the maximum number of attempts of all unproven webhooks together; unprovenInFlight counts those that
	// run.
	unprovenLimit, unprovenInFlight int
	stores                          map[uuid.UUID]int
	webhooks                        map[uuid.UUID]*webhook
	swept                           time.Time
}

// webhook is the state of one webhook in this worker.
type webhook struct {
	store            uuid.UUID
	inFlight         int
	window           int
	proven           bool // true after a successful attempt
	firstsSinceRetry int  // first attempts begun while retries waited, since the last retry
	// waiting[0] is true when first attempts may be due in the database, waiting[1] when retries may.
	waiting [2]bool
	used    time.Time
}

func newLanes(concurrency int) *lanePool {
	return &lanePool{
		total: concurrency, widest: max(1, concurrency/8), perStore: max(1, concurrency/4), unprovenLimit: max(1, concurrency/2),
		stores: map[uuid.UUID]int{}, webhooks: map[uuid.UUID]*webhook{},
	}
}

func (l *lanePool) of(of queue.Lane) *webhook {
	w := l.webhooks[of.WebhookID]
	if w == nil {
		w = &webhook{store: of.StoreID, window: min(firstWindow, l.widest)}
		l.webhooks[of.WebhookID] = w
	}
	return w
}

func index(retry bool) int {
	if retry {
		return 1
	}
	return 0
}

// room returns how many more attempts of a webhook may start.
func (l *lanePool) room(w *webhook) int {
	n := min(l.total-l.inFlight, l.perStore-l.stores[w.store], w.window-w.inFlight)
	if !w.proven {
		n = min(n, l.unprovenLimit-l.unprovenInFlight)
	}
	return max(0, n)
}

// free returns how many more attempts may start in total.
func (l *lanePool) free() int { return l.total - l.inFlight }

// begin counts a new attempt if there is room for it, and reports whether there was.
func (l *lanePool) begin(of queue.Lane) bool {
	w := l.of(of)
	// Deliveries that already wait go before new ones.
	if w.waiting[0] || w.retriesDue() || l.room(w) == 0 {
		return false
	}
	l.start(of)
	return true
}

// retriesDue reports whether retries go before first attempts: since the last retry, as many first attempts have begun as
// the window allows at once.
func (w *webhook) retriesDue() bool { return w.waiting[1] && w.firstsSinceRetry >= w.window }

func (l *lanePool) start(of queue.Lane) {
	w := l.of(of)
	w.inFlight++
	l.inFlight++
	l.stores[w.store]++
	if !w.proven {
		l.unprovenInFlight++
	}
	if of.Retry {
		w.firstsSinceRetry = 0
	} else if w.waiting[1] {
		w.firstsSinceRetry++
	}
}

// release takes an attempt out of the counts of running attempts.
func (l *lanePool) release(of queue.Lane) {
	w := l.of(of)
	w.inFlight--
	l.inFlight--
	if l.stores[w.store]--; l.stores[w.store] == 0 {
		delete(l.stores, w.store)
	}
	if !w.proven {
		l.unprovenInFlight--
	}
}

// end takes an attempt out of the counts of running attempts, and adjusts the webhook's window to the receiver's state.
func (l *lanePool) end(of queue.Lane, state receiverState, now time.Time) {
	l.release(of)
	w := l.of(of)
	w.used = now
	switch state {
	case answeredWell:
		w.window = min(w.window+1, l.widest)
		if !w.proven {
			w.proven = true
			l.unprovenInFlight -= w.inFlight
		}
	case answeredBadly:
		w.window = max(w.window/2, min(minWindow, l.widest))
		if w.proven {
			w.proven = false
			l.unprovenInFlight += w.inFlight
		}
	case notSent:
	}
}

// markWaiting notes that a lane may have due deliveries in the database.
func (l *lanePool) markWaiting(of queue.Lane) { l.of(of).waiting[index(of.Retry)] = true }

// wants returns the claims to make now: for each webhook with room and waiting deliveries, first attempts before retries,
// unless it is the retries' turn (retriesDue). A webhook whose window is nearly full waits until a quarter of it is free, so
// that a claim is worth its cost.
func (l *lanePool) wants() []queue.Want {
	var wants []queue.Want
	left, unprovenLeft := min(l.total-l.inFlight, claimBatch), l.unprovenLimit-l.unprovenInFlight
	stores := map[uuid.UUID]int{}
	for id, w := range l.webhooks {
		at := 0
		if !w.waiting[0] || w.retriesDue() {
			at = 1
		}
		if !w.waiting[at] || left <= 0 {
			continue
		}
		n := min(l.room(w), left, l.perStore-l.stores[w.store]-stores[w.store])
		if !w.proven {
			n = min(n, unprovenLeft)
		}
		if n <= 0 || (w.inFlight > 0 && n < w.window/4) {
			continue
		}
		left -= n
		stores[w.store] += n
		if !w.proven {
			unprovenLeft -= n
		}
		wants = append(wants, queue.Want{
			Lane: queue.Lane{StoreID: w.store, WebhookID: id, Retry: at == 1}, Max: n,
		})
	}
	return wants
}

// claimed counts an attempt for each claimed delivery, and marks the lanes that the claim emptied.
func (l *lanePool) claimed(wants []queue.Want, got []queue.Delivery) {
	counts := map[queue.Lane]int{}
	for _, d := range got {
		l.start(d.Lane)
		counts[d.Lane]++
	}
	for _, want := range wants {
		l.of(want.Lane).waiting[index(want.Retry)] = counts[want.Lane] == want.Max
	}
}

// forget drops webhooks that were idle for long.
func (l *lanePool) forget(now time.Time) {
	if now.Sub(l.swept) < forgetAfter {
		return
	}
	l.swept = now
	for id, w := range l.webhooks {
		if w.inFlight == 0 && !w.waiting[0] && !w.waiting[1] && now.Sub(w.used) >= forgetAfter {
			delete(l.webhooks, id)
		}
	}
}
