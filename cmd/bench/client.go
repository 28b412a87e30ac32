package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"
)

const answerTimeout = 30 * time.Second

// request has an API key or the operator's token.
type request struct {
	method, path, key, body string
	// followUp, if not nil, returns the next request, given the id of the object that this one created.
	followUp func(created uuid.UUID) request
}

// client keeps connections alive, one for each running request. It uses fasthttp, which takes less of the processors that the
// bench shares with the service. Goroutines may share it.
type client struct{ http fasthttp.HostClient }

// newClient calls address each time it opens a connection.
func newClient(address func() string) *client {
	c := &client{}
	c.http.Addr = "api.example.com"
	c.http.Dial = func(string) (net.Conn, error) { return net.DialTimeout("tcp", address(), answerTimeout) }
	c.http.MaxConns = 1 << 20
	c.http.MaxIdleConnDuration = time.Hour
	c.http.MaxIdemponentCallAttempts = 1 // a failure must be counted, so fasthttp must not repeat a request by itself
	return c
}

func at(address string) func() string { return func() string { return address } }

func (c *client) close() { c.http.CloseIdleConnections() }

// do passes the answer to read. It is valid until read returns.
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

func (c *client) exchange(r request) (status int, body []byte, err error) {
	err = c.do(r, time.Now().Add(answerTimeout), func(answer *fasthttp.Response) {
		status, body = answer.StatusCode(), slices.Clone(answer.Body())
	})
	return status, body, err
}

// verdict says how the service answered a request under a fault.
type verdict int

const (
	// served means success.
	served verdict = iota
	// refused means the service's own 503: its error body, with the code unavailable, and Retry-After.
	refused
	// limited means the service's own 429.
	limited
	// wrong means any other answer, or no answer.
	wrong
)

// classify returns the verdict on an answer and, unless it is a success, a description of the answer.
func classify(status int, body []byte, retryAfter bool) (verdict, string) {
	if status >= 200 && status <= 299 {
		return served, ""
	}
	var refusal struct {
		StatusCode int    `json:"statusCode"`
		Code       string `json:"code"`
		RequestID  string `json:"requestId"`
	}
	if json.Unmarshal(body, &refusal) != nil || refusal.StatusCode != status || refusal.Code == "" || refusal.RequestID == "" {
		return wrong, fmt.Sprintf("%d without our body", status)
	}
	problem := fmt.Sprintf("%d %s", status, refusal.Code)
	verdicts := map[string]verdict{"503 unavailable": refused, "429 rate_limited": limited}
	v, ok := verdicts[problem]
	switch {
	case !ok:
		return wrong, problem
	case !retryAfter:
		return wrong, problem + " without Retry-After"
	}
	return v, problem
}

// call is one request and its result.
type call struct {
	due        time.Time // when the request was scheduled
	took       time.Duration
	verdict    verdict
	problem    string // a description of the answer; "" if it was served
	retryAfter string
	created    uuid.UUID // the id in the answer to a POST
}

// ended returns when the answer arrived.
func (c call) ended() time.Time { return c.due.Add(c.took) }

// call sends a request that was due at due.
func (c *client) call(r request, due time.Time) call {
	done := call{due: due}
	err := c.do(r, time.Now().Add(answerTimeout), func(answer *fasthttp.Response) {
		done.retryAfter = string(answer.Header.Peek("Retry-After"))
		done.verdict, done.problem = classify(answer.StatusCode(), answer.Body(), done.retryAfter != "")
		if r.method == fasthttp.MethodPost && done.verdict == served {
			var resource struct {
				ID uuid.UUID `json:"id"`
			}
			_ = json.Unmarshal(answer.Body(), &resource) // without an id, created stays zero; it is counted as lost later
			done.created = resource.ID
		}
	})
	if err != nil {
		done.verdict, done.problem = wrong, noAnswerReason(err)
	}
	done.took = time.Since(due)
	return done
}

// noAnswer begins the description of a call that failed before its answer.
const noAnswer = "no answer: "

// noAnswerReason has no addresses, so that equal cases have equal texts.
func noAnswerReason(err error) string {
	var failed *net.OpError
	var slow net.Error
	switch {
	case errors.Is(err, fasthttp.ErrTimeout), errors.Is(err, fasthttp.ErrDialTimeout), errors.As(err, &slow) && slow.Timeout():
		return "no answer in time"
	case errors.As(err, &failed):
		return noAnswer + failed.Op + ": " + failed.Err.Error()
	}
	return noAnswer + err.Error()
}

func latencies(calls []call) []time.Duration {
	times := make([]time.Duration, len(calls))
	for n, c := range calls {
		times[n] = c.took
	}
	slices.Sort(times)
	return times
}

// percentile returns the value that p per cent of the sorted values do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*p/100]
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// recovered is the time from `from` to the end of the last bad call, or 0. A bad call was scheduled after `from` and not served
// within limit.
func recovered(calls []call, from time.Time, limit time.Duration) time.Duration {
	var last time.Duration
	for _, c := range calls {
		if !c.due.Before(from) && (c.verdict != served || c.took > limit) {
			last = max(last, c.ended().Sub(from))
		}
	}
	return last
}
