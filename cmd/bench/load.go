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

// rotation makes requests to stores, with their keys in turns. Goroutines share it.
type rotation struct {
	stores  []storeData
	turn    atomic.Int64 // the next key's number
	created atomic.Int64 // customers sent so far
}

// next returns the next key in turn and its store: all stores first, then their next keys, so that
// each key is used as seldom as can be.
func (r *rotation) next() (*storeData, string) {
	n := int(r.turn.Add(1) - 1)
	s := &r.stores[n%len(r.stores)]
	return s, s.key(n / len(r.stores))
}

// repeat returns a request with the next key each time.
func (r *rotation) repeat(method, path, body string) func() request {
	return func() request {
		_, key := r.next()
		return request{method: method, path: path, key: key, body: body}
	}
}

// newCustomer creates a customer that no store has yet.
func (r *rotation) newCustomer() request {
	_, key := r.next()
	return request{method: "POST", path: "/v1/customers", key: key, body: newCustomerBody(r.created.Add(1))}
}

// newCustomerBody returns the JSON that creates the nth customer, with an e-mail and a phone that no other has.
func newCustomerBody(n int64) string {
	return fmt.Sprintf(`{"name":"Nadège Customer %d","email":"New.Customer.%d@example.com","phone":"+23765%07d"}`, n, n, n)
}

// closedLoop is clients that each wait for an answer before they ask again.
type closedLoop struct {
	address string
	clients int
	// pause is how long a client waits after an answer that is no success; a client that heeds
	// Retry-After waits as long as that says instead.
	pause  time.Duration
	heeded bool
	// strict ends the run at the first answer that is no success.
	strict bool
	// next returns a request. Goroutines share it.
	next func() request
}

// run asks for a time, or until the context ends, and returns all calls in no order and how long
// they took.
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
				if asked.then != nil && done.verdict == served {
					done = c.call(asked.then(done.created), now)
				}
				calls[n] = append(calls[n], done)
				if done.verdict != served && l.strict {
					return fmt.Errorf("answered %s", done.what)
				}
				now = done.ended()
				if done.verdict != served {
					_ = wait(within, min(l.pauseAfter(done), time.Until(end))) // it ends with the context, as the loop does
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
	if after, err := strconv.Atoi(c.retryAfter); l.heeded && err == nil {
		return time.Duration(after) * time.Second
	}
	return l.pause
}

// start asks until it is stopped; stop returns all calls.
func (l closedLoop) start(ctx context.Context) (stop func() []call) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []call, 1)
	go func() {
		calls, _, _ := l.run(ctx, time.Hour) // without strict it does not fail
		done <- calls
	}()
	return func() []call {
		cancel()
		return <-done
	}
}

// openLoop asks at a steady rate, whatever the service does: a request goes out when it is due, and
// its time counts from then.
type openLoop struct {
	address func() string
	rate    float64 // requests in a second
	// retries is how often a request is sent again that reached nobody: not at all, unless it is set.
	retries int
	next    func() request

	client   *client
	mu       sync.Mutex
	calls    []call
	underWay sync.WaitGroup
	cancel   context.CancelFunc
}

// start begins to ask.
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

// stop asks no more, waits for the answers under way and returns all calls since the start in the
// order in which they were due.
func (l *openLoop) stop() []call {
	l.cancel()
	l.underWay.Wait()
	l.client.close()
	calls := l.calls
	l.calls = nil
	slices.SortFunc(calls, func(a, b call) int { return a.due.Compare(b.due) })
	return calls
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

// pollPause is how often it is looked whether something has come about.
const pollPause = 50 * time.Millisecond

// poll waits until come returns true, for at most limit, and reports whether it did.
func poll(ctx context.Context, limit time.Duration, come func() (bool, error)) (bool, error) {
	for deadline := time.Now().Add(limit); ; {
		done, err := come()
		if done || err != nil || time.Now().After(deadline) {
			return done, err
		}
		if err := wait(ctx, pollPause); err != nil {
			return false, err
		}
	}
}
