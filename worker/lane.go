package worker

import (
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/queue"
)

const (
	// firstWindow is how many attempts of a new webhook may run at once.
	firstWindow = 4
	// minWindow is how many attempts of a webhook may run at once after any number of failures.
	minWindow = 2
	// claimBatch is how many deliveries one claim leases: few, so that the last attempt begins soon after
	// the first.
	claimBatch = 32
	// forgetAfter is how long the pool keeps the state of a webhook without attempts.
	forgetAfter = 10 * time.Minute
)

// lanePool has a worker's state of each webhook with work. It bounds the attempts that run at once: in total, for each
// store, for each webhook, and for all unproven webhooks together. A webhook is unproven if its last attempt did not
// succeed. Only one goroutine uses the pool.
type lanePool struct {
	widest   int // largest window of a webhook
	perStore int
	total    int
	inFlight int
	// unprovenLimit is the maximum number of running attempts of all unproven webhooks together: those whose last attempt did
	// not succeed. unprovenInFlight is the present number.
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
	proven           bool // true if the last attempt succeeded
	firstsSinceRetry int  // how many first attempts have begun since the last retry, while retries waited
	// waiting[0] is true if first attempts of the webhook may be due in the database, waiting[1] if retries may be due.
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

// begin reports whether a new attempt in the lane may start now. If so, it counts the attempt as running.
func (l *lanePool) begin(of queue.Lane) bool {
	w := l.of(of)
	// A new delivery is not attempted before those of the webhook that already wait in the database.
	if w.waiting[0] || w.retriesDue() || l.room(w) == 0 {
		return false
	}
	l.start(of)
	return true
}

// retriesDue reports whether a retry must go before first attempts: a retry waits, and a whole window of first attempts has
// begun since the last retry.
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

// release counts an attempt as no longer running, and leaves the webhook's window as it is.
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

// end counts an attempt as no longer running. A success widens the webhook's window, and a failure halves it.
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

// wants returns for which webhooks the worker should claim deliveries now, and how many. A webhook is among them if more of
// its attempts may start and deliveries wait. Its first attempts are claimed before its retries, unless retriesDue is true. A
// webhook with running attempts is left out until a quarter of its window is free, so that a claim is worth its cost.
func (l *lanePool) wants() []queue.ClaimRequest {
	var wants []queue.ClaimRequest
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
		wants = append(wants, queue.ClaimRequest{
			Lane: queue.Lane{StoreID: w.store, WebhookID: id, Retry: at == 1}, Max: n,
		})
	}
	return wants
}

// claimed counts each claimed delivery as a running attempt. It also notes for each lane whether more deliveries may wait in
// the database. That is so only if the claim got as many deliveries of the lane as wanted.
func (l *lanePool) claimed(wants []queue.ClaimRequest, got []queue.Delivery) {
	counts := map[queue.Lane]int{}
	for _, d := range got {
		l.start(d.Lane)
		counts[d.Lane]++
	}
	for _, want := range wants {
		l.of(want.Lane).waiting[index(want.Retry)] = counts[want.Lane] == want.Max
	}
}

// forget drops the state of webhooks that had no work for forgetAfter.
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
