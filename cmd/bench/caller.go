package main

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// call is one request and what came of it.
type call struct {
	due     time.Time // when it was to be sent
	took    time.Duration
	verdict verdict
	what    string    // of a wrong one
	made    uuid.UUID // the id in a created resource
}

// ended is when its answer was there.
func (c call) ended() time.Time { return c.due.Add(c.took) }

// caller asks at a steady pace, whatever the service does: a request goes out when it is due, over
// a connection that is free or a new one, and its time counts from then.
type caller struct {
	address string
	rate    float64 // requests in a second
	keys    []string
	write   func(w *writer, n int)

	sent  int // so far; of the goroutine that sends
	mu    sync.Mutex
	free  []*line
	calls []call
	under sync.WaitGroup
	leave context.CancelFunc
}

// line is a connection with the buffer of its requests.
type line struct {
	*client
	writer *writer
}

// bystanderRate is how often a bystander asks in a second: the p99 of a few seconds needs some
// hundreds of answers.
const bystanderRate = 100

// newBystander returns a client of a store that asks for nothing but the store.
func newBystander(address string, s storeData) *caller {
	return &caller{address: address, rate: bystanderRate, keys: s.keys, write: func(w *writer, _ int) { w.get("/v1/store", "") }}
}

// newCreator returns a client that creates customers in a store.
func newCreator(address string, rate float64, s storeData) *caller {
	return &caller{address: address, rate: rate, keys: s.keys, write: func(w *writer, n int) {
		w.post("/v1/customers", newCustomerBody(int64(n)))
	}}
}

// start begins to ask.
func (c *caller) start(ctx context.Context) {
	ctx, c.leave = context.WithCancel(ctx)
	begin := time.Now()
	c.under.Go(func() {
		timer := time.NewTimer(0)
		defer timer.Stop()
		for n := 0; ; n++ {
			due := begin.Add(time.Duration(float64(n) / c.rate * float64(time.Second)))
			timer.Reset(time.Until(due))
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			number := c.sent
			c.sent++
			c.under.Go(func() { c.ask(ctx, number, due) })
		}
	})
}

// stop asks no more, waits for the answers under way and returns all calls since the start in the
// order in which they were due.
func (c *caller) stop() []call {
	if c.leave != nil {
		c.leave()
	}
	c.under.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.free {
		l.close()
	}
	calls := c.calls
	c.free, c.calls = nil, nil
	slices.SortFunc(calls, func(a, b call) int { return a.due.Compare(b.due) })
	return calls
}

// watch asks for a while.
func (c *caller) watch(ctx context.Context, d time.Duration) ([]call, error) {
	c.start(ctx)
	err := wait(ctx, d)
	return c.stop(), err
}

func (c *caller) ask(ctx context.Context, n int, due time.Time) {
	made := call{due: due}
	l, err := c.take(ctx)
	if err == nil {
		l.writer.key = c.keys[n%len(c.keys)]
		c.write(l.writer, n)
		var status int
		var body []byte
		status, body, err = l.do(l.writer.text)
		made.verdict, made.what = judge(status, body, l.retryAfter, err)
		if status == 201 {
			var resource struct {
				ID uuid.UUID `json:"id"`
			}
			if json.Unmarshal(body, &resource) == nil {
				made.made = resource.ID
			}
		}
	} else {
		if ctx.Err() != nil {
			return
		}
		made.verdict, made.what = judge(0, nil, false, err)
	}
	made.took = time.Since(due)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, made)
	switch {
	case l == nil:
	case err != nil || l.closing:
		l.close()
	default:
		c.free = append(c.free, l)
	}
}

// take returns a free connection or a new one.
func (c *caller) take(ctx context.Context) (*line, error) {
	c.mu.Lock()
	if n := len(c.free); n > 0 {
		l := c.free[n-1]
		c.free = c.free[:n-1]
		c.mu.Unlock()
		return l, nil
	}
	c.mu.Unlock()
	d, err := dial(ctx, c.address)
	if err != nil {
		return nil, err
	}
	return &line{d, newWriter(0)}, nil
}

// tookOf returns the times of calls, sorted.
func tookOf(calls []call) []time.Duration {
	times := make([]time.Duration, len(calls))
	for n, c := range calls {
		times[n] = c.took
	}
	slices.Sort(times)
	return times
}

// answers counts calls by verdict and adds the wrong ones to a tally.
func answers(calls []call, into *tally) (counts [wrong + 1]int) {
	for _, c := range calls {
		counts[c.verdict]++
		if c.verdict == wrong {
			into.add(c.what, 1)
		}
	}
	return counts
}

// recovered is how long after a moment the last call that was due since then and was not served
// within a limit ended; zero when all were.
func recovered(calls []call, from time.Time, limit time.Duration) time.Duration {
	var last time.Duration
	for _, c := range calls {
		if !c.due.Before(from) && (c.verdict != served || c.took > limit) {
			last = max(last, c.ended().Sub(from))
		}
	}
	return last
}
