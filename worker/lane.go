package worker

import (
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/queue"
)

const (
	// firstWindow is a webhook's window before any result is known.
	firstWindow = 4
	// minWindow is a webhook's window after any number of failures.
	minWindow = 2
	// claimBatch is small, so that the last of a claim's attempts begins soon after the first.
	claimBatch = 32
	// forgetAfter is how long the pool keeps the state of a webhook without attempts.
	forgetAfter = 10 * time.Minute
)

// lanePool bounds the attempts that run at once: in total, for each store, for each webhook, and for all unproven webhooks
// together. A webhook is unproven until an attempt succeeds, and after a failure. Only one goroutine uses the pool.
type lanePool struct {
	maxWindow     int // largest window of a webhook
	perStoreLimit int // most attempts of one store at once
	limit         int // most attempts at once
	inFlight      int
	// unprovenLimit and unprovenInFlight are the most and the present attempts of all unproven webhooks.
	unprovenLimit, unprovenInFlight int
	stores                          map[uuid.UUID]int
	webhooks                        map[uuid.UUID]*webhook
	swept                           time.Time
}

type webhook struct {
	store            uuid.UUID
	inFlight         int
	window           int
	proven           bool // true if an attempt has succeeded and none has failed since
	firstsSinceRetry int  // how many first attempts have begun since the last retry, while retries waited
	// waiting[0] is for first attempts that may be due in the database, waiting[1] for retries.
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

func (l *lanePool) room(w *webhook) int {
	n := min(l.limit-l.inFlight, l.perStoreLimit-l.stores[w.store], w.window-w.inFlight)
	if !w.proven {
		n = min(n, l.unprovenLimit-l.unprovenInFlight)
	}
	return max(0, n)
}

func (l *lanePool) free() int { return l.limit - l.inFlight }

// retriesDue lets a waiting retry go first once as many first attempts have begun since the last one as the window allows at
// once.
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

// release leaves the webhook's window as it is.
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

// end widens the window after a success and halves it after a failure. receiverUnknown leaves it as it is.
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

// claimRequests is what the worker should claim now: first attempts before retries, unless retriesDue. A webhook with running
// attempts is left out until a quarter of its window is free, so that a claim is worth its cost.
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

// claimed counts running attempts. More deliveries may wait only in a lane of which the claim got as many as wanted.
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
