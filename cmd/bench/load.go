package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// mostSpread is the longest time over which clients begin.
const mostSpread = time.Second

// closedLoop is clients that each wait for an answer before they ask again.
type closedLoop struct {
	address string
	clients int
	// patience is how long a client waits for an answer; zero means answerTimeout.
	patience time.Duration
	// pause is how long a client waits after an answer that is no success.
	pause time.Duration
	// strict ends the run at the first answer that is no success.
	strict bool
	// next returns a request of a client.
	next func(client int) request
}

// run asks for a time, or until the context ends, and returns all calls in no order and how long
// they took.
func (l closedLoop) run(ctx context.Context, length time.Duration) ([]call, time.Duration, error) {
	if l.patience == 0 {
		l.patience = answerTimeout
	}
	c := newClient(at(l.address))
	defer c.close()
	group, within := errgroup.WithContext(ctx)
	calls := make([][]call, l.clients)
	start := time.Now()
	end := start.Add(length)
	for n := range l.clients {
		group.Go(func() error {
			// They know nothing of each other, so that they do not all begin, or come back, in one moment.
			_ = wait(within, min(l.pause, mostSpread)*time.Duration(n)/time.Duration(l.clients)) // it ends with the context, as the loop does
			for now := time.Now(); now.Before(end) && within.Err() == nil; {
				made := c.call(l.next(n), now, l.patience)
				calls[n] = append(calls[n], made)
				if made.verdict != served && l.strict {
					return fmt.Errorf("answered %s", made.what)
				}
				now = made.ended()
				if made.verdict != served {
					_ = wait(within, min(l.pause, time.Until(end))) // it ends with the context, as the loop does
					now = time.Now()
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(calls...), time.Since(start), err
}

// start asks until it is stopped; stop returns all calls.
func (l closedLoop) start(ctx context.Context) (stop func() []call) {
	ctx, leave := context.WithCancel(ctx)
	done := make(chan []call, 1)
	go func() {
		calls, _, _ := l.run(ctx, time.Hour) // without strict it does not fail
		done <- calls
	}()
	return func() []call {
		leave()
		return <-done
	}
}

// openLoop asks at a steady rate, whatever the service does: a request goes out when it is due, and
// its time counts from then.
type openLoop struct {
	address func() string
	rate    float64             // requests in a second
	next    func(n int) request // the nth, from 0

	client *client
	sent   int // so far; of the goroutine that sends
	mu     sync.Mutex
	calls  []call
	under  sync.WaitGroup
	leave  context.CancelFunc
}

// start begins to ask.
func (l *openLoop) start(ctx context.Context) {
	ctx, l.leave = context.WithCancel(ctx)
	l.client = newClient(l.address)
	begin := time.Now()
	l.under.Go(func() {
		for n := 0; ; n++ {
			due := begin.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
			if wait(ctx, time.Until(due)) != nil {
				return
			}
			number := l.sent
			l.sent++
			l.under.Go(func() {
				made := l.client.call(l.next(number), due, answerTimeout)
				l.mu.Lock()
				defer l.mu.Unlock()
				l.calls = append(l.calls, made)
			})
		}
	})
}

// stop asks no more, waits for the answers under way and returns all calls since the start in the
// order in which they were due.
func (l *openLoop) stop() []call {
	l.leave()
	l.under.Wait()
	l.client.close()
	calls := l.calls
	l.calls = nil
	slices.SortFunc(calls, func(a, b call) int { return a.due.Compare(b.due) })
	return calls
}

// watch asks for a while.
func (l *openLoop) watch(ctx context.Context, d time.Duration) ([]call, error) {
	l.start(ctx)
	err := wait(ctx, d)
	return l.stop(), err
}

// wait waits, or less long when the context ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bystanderRate is how often a bystander asks in a second: the p99 of a few seconds needs some
// hundreds of answers.
const bystanderRate = 100

// newBystander returns the traffic of a store that asks for nothing but the store.
func newBystander(address string, s storeData) *openLoop {
	return &openLoop{address: at(address), rate: bystanderRate, next: func(n int) request { return s.get(n, "/v1/store") }}
}

// newCreator returns traffic that creates customers in a store, numbered from first.
func newCreator(address string, rate float64, s storeData, first int) *openLoop {
	return &openLoop{address: at(address), rate: rate, next: func(n int) request {
		return request{"POST", "/v1/customers", s.key(n), newCustomerBody(int64(first + n))}
	}}
}
