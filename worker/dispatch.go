package worker

import (
	"context"
	"sync"
	"time"

	"go.storefront.example/ent/queue"
)

// Looking for all due deliveries is the only way to find those of a worker that has died. If it takes long, the worker waits
// dueFactor times as long, up to maxDueInterval.
const (
	minDueInterval = 2 * time.Second
	maxDueInterval = 10 * time.Second
	dueFactor      = 20
)

// dispatcher decides which deliveries are attempted, and when. One goroutine runs it.
type dispatcher struct {
	*Worker
	// attemptCtx ends later than the context of the worker (see Run).
	attemptCtx context.Context
	// findingDue is true if the next step asks which deliveries became due.
	findingDue bool
	// claiming is true if another claim may find more at once: the last one got a whole batch, or a lane had fewer than wanted,
	// and the webhook's other lane may have some.
	claiming bool
}

// dispatch starts attempts until ctx ends, then waits for those in progress. parent is the parent of the attempts' context.
func (w *Worker) dispatch(ctx, parent context.Context) {
	attemptCtx, cancelAttempts := context.WithCancel(parent)
	defer cancelAttempts()
	defer context.AfterFunc(ctx, func() {
		if pause(attemptCtx, w.stopTimeout) {
			cancelAttempts()
		}
	})()
	d := &dispatcher{Worker: w, attemptCtx: attemptCtx, findingDue: true}
	var notified <-chan struct{}
	if !w.config.PollOnly {
		notified = w.config.DB.Listen(ctx)
	}
	all := make(chan []queue.DueLane)
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { w.findAllDue(ctx, all) })
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for ctx.Err() == nil {
		// The dispatcher must receive every lease that the step takes, also when the worker stops.
		if err := d.step(attemptCtx); err != nil {
			w.config.Logger.ErrorContext(ctx, "look for work", "error", err)
			d.findingDue = true
			d.drain()
			pause(ctx, errorPause)
			continue
		}
		if (d.findingDue || d.claiming) && w.lanes.free() > 0 {
			select {
			case <-poll.C:
				d.findingDue = true
			case due := <-all:
				d.found(due)
			default: // more work is left
			}
		} else {
			select {
			case <-ctx.Done():
			case <-notified:
				d.findingDue = true
			case <-poll.C:
				d.findingDue = true
			case due := <-all:
				d.found(due)
			case batch := <-w.written:
				d.end(batch)
			}
		}
		d.drain()
	}
	for w.lanes.inFlight > 0 {
		d.end(<-w.written)
	}
}

func (d *dispatcher) step(ctx context.Context) error {
	if d.findingDue {
		if err := d.withLeaseTimeout(ctx, d.findDue); err != nil {
			return err
		}
	}
	if err := d.withLeaseTimeout(ctx, d.claim); err != nil {
		return err
	}
	if err := d.queue.DropRelayed(ctx); err != nil {
		d.config.Logger.WarnContext(ctx, "relayed deliveries stay in the outbox", "error", err)
	}
	return nil
}

// withLeaseTimeout ends f after the time of a lease, because a vanished server may never answer, and the leases have ended
// anyway.
func (w *Worker) withLeaseTimeout(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, w.leaseDuration())
	defer cancel()
	return f(ctx)
}

func (d *dispatcher) findDue(ctx context.Context) error {
	relayed, err := d.queue.Relay(ctx)
	if err != nil {
		return err
	}
	due, err := d.queue.Due(ctx)
	if err != nil {
		return err
	}
	d.findingDue = relayed > 0 // perhaps more entries are left in the outbox
	for _, lane := range due {
		d.lanes.markWaiting(lane)
	}
	return nil
}

// findAllDue sends the lanes of all due deliveries to found every minDueInterval. It has its own goroutine, because it may be
// slow (queue.AllDue).
func (w *Worker) findAllDue(ctx context.Context, found chan<- []queue.DueLane) {
	for {
		start := time.Now()
		var due []queue.DueLane
		err := w.withLeaseTimeout(ctx, func(ctx context.Context) (err error) {
			due, err = w.queue.AllDue(ctx)
			return err
		})
		if err != nil && ctx.Err() == nil {
			w.config.Logger.ErrorContext(ctx, "look for work", "error", err)
		}
		select {
		case found <- due:
		case <-ctx.Done():
			return
		}
		if !pause(ctx, min(max(dueFactor*time.Since(start), minDueInterval), maxDueInterval)) {
			return
		}
	}
}

func (d *dispatcher) found(due []queue.DueLane) {
	d.queue.Found(due)
	d.lanes.forget(time.Now())
	for _, lane := range due {
		d.lanes.markWaiting(lane.Lane)
	}
}

func (d *dispatcher) claim(ctx context.Context) error {
	requests := d.lanes.claimRequests()
	d.claiming = false
	if len(requests) == 0 {
		return nil
	}
	start := time.Now()
	deliveries, err := d.queue.Claim(ctx, requests, d.leaseDuration())
	if err != nil {
		return err
	}
	d.metrics.observe(opClaim, start)
	d.lanes.claimed(requests, deliveries)
	requested := 0
	for _, request := range requests {
		requested += request.Max
	}
	d.claiming = len(deliveries) >= claimBatch || len(deliveries) < requested
	for _, delivery := range deliveries {
		go d.deliver(d.attemptCtx, delivery, start)
	}
	return nil
}

func (d *dispatcher) end(batch []endedLease) {
	now := time.Now()
	for _, r := range batch {
		d.lanes.end(r.outcome.Delivery.Lane, r.receiver, now)
	}
}

func (d *dispatcher) drain() {
	for {
		select {
		case batch := <-d.written:
			d.end(batch)
		default:
			return
		}
	}
}
