package main

import (
	"encoding/json"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"
)

// answerTimeout bounds the wait for one answer.
const answerTimeout = 30 * time.Second

// request is one request to the public API.
type request struct{ method, path, key, body string }

// client asks a service over kept-alive connections, one for each request under way. It is no
// net/http client because it takes its time from the same processors as the service, and fasthttp's
// takes less of it. Goroutines may share it.
type client struct{ http fasthttp.HostClient }

// newClient returns a client of the service that is found at an address when a connection is opened.
func newClient(address func() string) *client {
	c := &client{}
	c.http.Addr = "api.example.com"
	c.http.Dial = func(string) (net.Conn, error) { return net.DialTimeout("tcp", address(), answerTimeout) }
	c.http.MaxConns = 1 << 20
	c.http.MaxIdleConnDuration = time.Hour
	c.http.MaxIdemponentCallAttempts = 1 // what fails once is counted
	return c
}

// at is the address of a service that keeps it.
func at(address string) func() string { return func() string { return address } }

func (c *client) close() { c.http.CloseIdleConnections() }

// do sends a request and passes the answer on, which is good until read returns.
func (c *client) do(r request, deadline time.Time, read func(*fasthttp.Response)) error {
	sent, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(sent)
	defer fasthttp.ReleaseResponse(answer)
	sent.Header.SetMethod(r.method)
	sent.Header.SetHost(c.http.Addr)
	sent.SetRequestURI(r.path)
	sent.Header.Set("User-Agent", "bench")
	sent.Header.Set("Accept", "application/json")
	sent.Header.Set("Authorization", "Bearer "+r.key)
	if r.body != "" {
		sent.Header.SetContentType("application/json")
		sent.SetBodyString(r.body)
	}
	err := c.http.DoDeadline(sent, answer, deadline)
	if err == nil {
		read(answer)
	}
	return err
}

// exchange sends a request and returns the answer's status and body.
func (c *client) exchange(r request) (status int, body []byte, err error) {
	err = c.do(r, time.Now().Add(answerTimeout), func(answer *fasthttp.Response) {
		status, body = answer.StatusCode(), slices.Clone(answer.Body())
	})
	return status, body, err
}

// call is one request and what came of it.
type call struct {
	due     time.Time // when it was to be sent
	took    time.Duration
	verdict verdict
	what    string    // it was answered with, unless it was served
	made    uuid.UUID // the id in a created resource
}

// ended is when its answer was there.
func (c call) ended() time.Time { return c.due.Add(c.took) }

// call sends a request that was due at a time, and gives up after some patience.
func (c *client) call(r request, due time.Time, patience time.Duration) call {
	made := call{due: due}
	err := c.do(r, time.Now().Add(patience), func(answer *fasthttp.Response) {
		made.verdict, made.what = judge(answer.StatusCode(), answer.Body(), len(answer.Header.Peek("Retry-After")) > 0)
		if answer.StatusCode() == fasthttp.StatusCreated {
			var resource struct {
				ID uuid.UUID `json:"id"`
			}
			_ = json.Unmarshal(answer.Body(), &resource) // without an id it is found nowhere
			made.made = resource.ID
		}
	})
	if err != nil {
		made.verdict, made.what = wrong, noAnswer(err)
	}
	made.took = time.Since(due)
	return made
}

// givenUp is what there was when the patience of whoever asked ended first.
const givenUp = "no answer in time"

// noAnswer is why there was none, without addresses, so that equal cases are equal.
func noAnswer(err error) string {
	var failed *net.OpError
	var slow net.Error
	switch {
	case errors.Is(err, fasthttp.ErrTimeout), errors.Is(err, fasthttp.ErrDialTimeout), errors.As(err, &slow) && slow.Timeout():
		return givenUp
	case errors.As(err, &failed):
		return "no answer: " + failed.Op + ": " + failed.Err.Error()
	}
	return "no answer: " + err.Error()
}

// latencies returns the times of calls, sorted.
func latencies(calls []call) []time.Duration {
	times := make([]time.Duration, len(calls))
	for n, c := range calls {
		times[n] = c.took
	}
	slices.Sort(times)
	return times
}

// percentile returns the value that p per cent of the sorted ones do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*p/100]
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
