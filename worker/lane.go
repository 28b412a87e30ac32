package worker

import (
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/queue"
)

const (
	// firstWindow is how many attempts of a webhook may run at once before the pool knows the result of any of them.
	firstWindow = 4
	// minWindow is how many attempts of a webhook may run at once after any number of failures.
	minWindow = 2
	// claimBatch is the most deliveries that one claim leases. It is small, so that the last of their attempts begins soon after
	// the first.
	claimBatch = 32
	// forgetAfter is how long the pool keeps the state of a webhook without attempts.
	forgetAfter = 10 * time.Minute
)

// lanePool has a worker's state of each webhook with work. It bounds the attempts that run at once: in total, for each
// store, for each webhook, and for all unproven webhooks together. A webhook is unproven until an attempt succeeds, and again
// after an attempt has failed. Only one goroutine uses the pool.
type lanePool struct {
	maxWindow     int // largest window of a webhook
	perStoreLimit int // most attempts of one store at once
	limit         int // most attempts at once
	inFlight      int
	// unprovenLimit is the most running attempts of all unproven webhooks together. unprovenInFlight is the present number.
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
	proven           bool // true if an attempt has succeeded and no attempt has failed since
	firstsSinceRetry int  // how many first attempts have begun since the last retry, while retries waited
	// waiting[0] is true if first attempts of the webhook may be due in the database, waiting[1] if retries may be due.
	waiting [2]bool
	used    time.Time
}

func newLanes(concurrency int) *lanePool {
	return &lanePool{
		limit: concurrency, maxWindow: max(1, concurrency/8), perStoreLimit: max(1, concurrency/4),
		unprovenLimit: max(1, concurrency/2),
		stores:        map[uuid.UUID]int{}, webhooks: map[uuid.UUID]*webhook{},
	}
}

// webhook returns the state of the lane's webhook, and makes it if there is none.
func (l *lanePool) webhook(lane queue.Lane) *webhook {
	w := l.webhooks[lane.WebhookID]
	if w == nil {
		w = &webhook{store: lane.StoreID, window: min(firstWindow, l.maxWindow)}
		l.webhooks[lane.WebhookID] = w
	}
	return w
}

func laneIndex(retry bool) int {
	if retry {
		return 1
	}
	return 0
}

// room returns how many more attempts of a webhook may start.
func (l *lanePool) room(w *webhook) int {
	n := min(l.limit-l.inFlight, l.perStoreLimit-l.stores[w.store], w.window-w.inFlight)
	if !w.proven {
		n = min(n, l.unprovenLimit-l.unprovenInFlight)
	}
	return max(0, n)
}

// free returns how many more attempts may start in total.
func (l *lanePool) free() int { return l.limit - l.inFlight }

// retriesDue reports whether the webhook's retries now come before its first attempts: a retry waits, and since the last
// retry as many first attempts have begun as the webhook's window allows at once.
func (w *webhook) retriesDue() bool { return w.waiting[1] && w.firstsSinceRetry >= w.window }

func (l *lanePool) start(lane queue.Lane) {
	w := l.webhook(lane)
	w.inFlight++
	l.inFlight++
	l.stores[w.store]++
	if !w.proven {
		l.unprovenInFlight++
	}
	if lane.Retry {
		w.firstsSinceRetry = 0
	} else if w.waiting[1] {
		w.firstsSinceRetry++
	}
}

// release counts an attempt as no longer running, and leaves the webhook's window as it is.
func (l *lanePool) release(lane queue.Lane) {
	w := l.webhook(lane)
	w.inFlight--
	l.inFlight--
	if l.stores[w.store]--; l.stores[w.store] == 0 {
		delete(l.stores, w.store)
	}
	if !w.proven {
		l.unprovenInFlight--
	}
}

// end counts an attempt as no longer running. A success widens the webhook's window, and a failure halves it. An attempt
// without a result (receiverUnknown) leaves the window as it is.
func (l *lanePool) end(lane queue.Lane, state receiverState, now time.Time) {
	l.release(lane)
	w := l.webhook(lane)
	w.used = now
	switch state {
	case receiverSucceeded:
		w.window = min(w.window+1, l.maxWindow)
		if !w.proven {
			w.proven = true
			l.unprovenInFlight -= w.inFlight
		}
	case receiverFailed:
		w.window = max(w.window/2, min(minWindow, l.maxWindow))
		if w.proven {
			w.proven = false
			l.unprovenInFlight += w.inFlight
		}
	case receiverUnknown:
	}
}

// markWaiting notes that a lane may have due deliveries in the database.
func (l *lanePool) markWaiting(lane queue.Lane) {
	l.webhook(lane).waiting[laneIndex(lane.Retry)] = true
}

// claimRequests returns how many deliveries the worker should claim now, and of which webhooks. It includes a webhook if
// deliveries wait and more of its attempts may start. Its first attempts are claimed before its retries, unless retriesDue
// is true. A webhook with running attempts is left out until a quarter of its window is free, so that a claim is worth its
// cost.
func (l *lanePool) claimRequests() []queue.ClaimRequest {
	var requests []queue.ClaimRequest
	remaining, unprovenRemaining := min(l.limit-l.inFlight, claimBatch), l.unprovenLimit-l.unprovenInFlight
	stores := map[uuid.UUID]int{}
	for id, w := range l.webhooks {
		at := 0
		if !w.waiting[0] || w.retriesDue() {
			at = 1
		}
		if !w.waiting[at] || remaining <= 0 {
			continue
		}
		n := min(l.room(w), remaining, l.perStoreLimit-l.stores[w.store]-stores[w.store])
		if !w.proven {
			n = min(n, unprovenRemaining)
		}
		if n <= 0 || (w.inFlight > 0 && n < w.window/4) {
			continue
		}
		remaining -= n
		stores[w.store] += n
		if !w.proven {
			unprovenRemaining -= n
		}
		requests = append(requests, queue.ClaimRequest{
			Lane: queue.Lane{StoreID: w.store, WebhookID: id, Retry: at == 1}, Max: n,
		})
	}
	return requests
}

// claimed counts each claimed delivery as a running attempt. It also notes for each lane whether more deliveries may wait in
// the database. That is so only if the claim got as many deliveries of the lane as wanted.
func (l *lanePool) claimed(requests []queue.ClaimRequest, deliveries []queue.Delivery) {
	counts := map[queue.Lane]int{}
	for _, d := range deliveries {
		l.start(d.Lane)
		counts[d.Lane]++
	}
	for _, request := range requests {
		l.webhook(request.Lane).waiting[laneIndex(request.Retry)] = counts[request.Lane] == request.Max
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
