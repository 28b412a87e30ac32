package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// rotation makes requests to stores, with the next API key each. Goroutines share it.
type rotation struct {
	stores  []storeData
	turn    atomic.Int64
	created atomic.Int64 // newCustomer adds 1, and makes the customer's e-mail and phone from the result
}

// next takes one key of every store before a second of any, so that each key is used as seldom as possible.
func (r *rotation) next() (*storeData, string) {
	n := int(r.turn.Add(1) - 1)
	s := &r.stores[n%len(r.stores)]
	return s, s.key(n / len(r.stores))
}

// repeat makes the same request each time, with the next key.
func (r *rotation) repeat(method, path, body string) func() request {
	return func() request {
		_, key := r.next()
		return request{method: method, path: path, key: key, body: body}
	}
}

// newCustomer creates a customer whom no store has.
func (r *rotation) newCustomer() request {
	_, key := r.next()
	return request{method: "POST", path: "/v1/customers", key: key, body: newCustomerBody(r.created.Add(1))}
}

func newCustomerBody(n int64) string {
	return fmt.Sprintf(`{"name":"Nadège Customer %d","email":"New.Customer.%d@example.com","phone":"+23765%07d"}`, n, n, n)
}

// closedLoop is clients that wait for an answer before the next request.
type closedLoop struct {
	address string
	clients int
	// pause follows an answer that is not a success. If heedRetryAfter is true, the time in Retry-After replaces it.
	pause          time.Duration
	heedRetryAfter bool
	// strict ends the run at the first answer that is not a success.
	strict bool
	// next returns the next request. Goroutines share it.
	next func() request
}

// run sends requests for a time, or until the context ends. It returns all calls, unsorted, and how long it ran. It fails only
// if strict is set.
func (l closedLoop) run(ctx context.Context, length time.Duration) ([]call, time.Duration, error) {
	c := newClient(at(l.address))
	defer c.close()
	group, within := errgroup.WithContext(ctx)
	calls := make([][]call, l.clients)
	start := time.Now()
	end := start.Add(length)
	for n := range l.clients {
		group.Go(func() error {
			for now := time.Now(); now.Before(end) && within.Err() == nil; {
				asked := l.next()
				done := c.call(asked, now)
				if asked.followUp != nil && done.verdict == served {
					done = c.call(asked.followUp(done.created), now)
				}
				calls[n] = append(calls[n], done)
				if done.verdict != served && l.strict {
					return fmt.Errorf("answered %s", done.problem)
				}
				now = done.ended()
				if done.verdict != served {
					_ = wait(within, min(l.pauseAfter(done), time.Until(end))) // fails only if the context has ended, and then the loop ends
					now = time.Now()
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(calls...), time.Since(start), err
}

func (l closedLoop) pauseAfter(c call) time.Duration {
	if after, err := strconv.Atoi(c.retryAfter); l.heedRetryAfter && err == nil {
		return time.Duration(after) * time.Second
	}
	return l.pause
}

// start sends requests in the background until stop.
func (l closedLoop) start(ctx context.Context) (stop func() []call) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []call, 1)
	go func() {
		calls, _, _ := l.run(ctx, time.Hour) // run returns an error only if strict is set
		done <- calls
	}()
	return func() []call {
		cancel()
		return <-done
	}
}

// openLoop sends requests at a steady rate, however fast the service answers. A request's duration counts from when it was
// scheduled.
type openLoop struct {
	address func() string
	rate    float64 // requests a second
	// retries is how often a request that reached no server is sent again.
	retries int
	next    func() request

	client   *client
	mu       sync.Mutex
	calls    []call
	underWay sync.WaitGroup
	cancel   context.CancelFunc
}

func (l *openLoop) start(ctx context.Context) {
	ctx, l.cancel = context.WithCancel(ctx)
	l.client = newClient(l.address)
	l.client.http.MaxIdemponentCallAttempts = 1 + l.retries
	begin := time.Now()
	l.underWay.Go(func() {
		for n := 0; ; n++ {
			due := begin.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
			if wait(ctx, time.Until(due)) != nil {
				return
			}
			r := l.next()
			l.underWay.Go(func() {
				done := l.client.call(r, due)
				l.mu.Lock()
				defer l.mu.Unlock()
				l.calls = append(l.calls, done)
			})
		}
	})
}

// stop waits for the answers and returns all calls in the order of their schedule.
func (l *openLoop) stop() []call {
	l.cancel()
	l.underWay.Wait()
	l.client.close()
	calls := l.calls
	l.calls = nil
	slices.SortFunc(calls, func(a, b call) int { return a.due.Compare(b.due) })
	return calls
}

// wait returns an error if the context ends first.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

const pollPause = 50 * time.Millisecond

// poll calls condition until it is true, for at most limit. It returns an error of condition, or of the context, at once.
func poll(ctx context.Context, limit time.Duration, condition func() (bool, error)) (bool, error) {
	for deadline := time.Now().Add(limit); ; {
		done, err := condition()
		if done || err != nil || time.Now().After(deadline) {
			return done, err
		}
		if err := wait(ctx, pollPause); err != nil {
			return false, err
		}
	}
}
