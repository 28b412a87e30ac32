// Package receiver is the receiver of a store's owner in measurements: an https server that verifies each delivery, records it
// and answers. Its hooks have their own paths and secrets. It answers 400 to deliveries that it cannot verify, and counts them
// as wrong.
package receiver

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/worker/signature"
)

// maxBodyBytes is much more than the largest event.
const maxBodyBytes = 1 << 20

// errBrokenOff is for example of a killed worker.
var errBrokenOff = errors.New("the request was broken off")

// Hook is one path of a receiver.
type Hook struct {
	// Secret is the signing secret of the webhook with this path.
	Secret string
	// Hangs is true if the hook reads deliveries and never answers.
	Hangs bool
}

// Request is a verified delivery. Times are by the wall clock, which all processes of a machine share.
type Request struct {
	Event   uuid.UUID
	Attempt int
	// Arrived is when the whole request had arrived.
	Arrived time.Time
	// Status is the answer's status; 0 before the answer.
	Status int
}

// Succeeded reports whether the answer was a success.
func (r Request) Succeeded() bool { return r.Status >= 200 && r.Status <= 299 }

// Answer is how the receiver answers. A delivery of an event that it has accepted before is accepted again whatever the status,
// as by a receiver that checks the event's id.
type Answer func() (delay time.Duration, status int)

// OK answers at once with success.
func OK() (time.Duration, int) { return 0, http.StatusNoContent }

// Receiver serves until it is closed. Goroutines may share it.
type Receiver struct {
	answer Answer
	server *httptest.Server

	mu           sync.Mutex
	hooks        []Hook
	requests     []Request
	events       map[uuid.UUID]struct{} // events that were answered with success
	invalid      int
	firstInvalid error // what is wrong with the first wrong delivery
}

// Start starts a receiver without hooks on a free port of the loopback address.
func Start(answer Answer) *Receiver {
	r := &Receiver{answer: answer, events: map[uuid.UUID]struct{}{}}
	r.server = httptest.NewUnstartedServer(r)
	r.server.EnableHTTP2 = true
	r.server.Config.ReadHeaderTimeout = time.Minute
	// A killed worker breaks its connections off, which does not matter.
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.server.StartTLS()
	return r
}

// Authority returns the certificate, in PEM, that a client must trust.
func (r *Receiver) Authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
}

// URL returns the address of a hook.
func (r *Receiver) URL(hook int) string { return r.server.URL + "/hooks/" + strconv.Itoa(hook) }

// SetHooks replaces all hooks. A hook's number is its index.
func (r *Receiver) SetHooks(hooks []Hook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hooks = hooks
}

// Requests returns the deliveries so far, in the order of their arrival.
func (r *Receiver) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Request(nil), r.requests...)
}

// Count is how many deliveries a receiver got.
type Count struct {
	Requests int
	// Events is the number of different events that were answered with success.
	Events int
}

// Count returns an error if a delivery was wrong.
func (r *Receiver) Count() (Count, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Count{len(r.requests), len(r.events)}
	if r.invalid > 0 {
		return c, fmt.Errorf("%d requests were no deliveries, the first because of: %w", r.invalid, r.firstInvalid)
	}
	return c, nil
}

// Forget drops the deliveries so far.
func (r *Receiver) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests, r.events, r.invalid, r.firstInvalid = nil, map[uuid.UUID]struct{}{}, 0, nil
}

// Close ends the receiver and all its connections, even hanging ones.
func (r *Receiver) Close() error { return r.server.Config.Close() }

// ServeHTTP receives a delivery.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	got, hook, err := r.read(request)
	if err != nil {
		if !errors.Is(err, errBrokenOff) {
			r.mu.Lock()
			if r.invalid++; r.firstInvalid == nil {
				r.firstInvalid = err
			}
			r.mu.Unlock()
		}
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	number := len(r.requests)
	r.requests = append(r.requests, got)
	r.mu.Unlock()
	if hook.Hangs {
		<-request.Context().Done()
		return
	}
	delay, status := r.answer()
	time.Sleep(delay)
	r.mu.Lock()
	if _, accepted := r.events[got.Event]; accepted {
		status = http.StatusNoContent
	}
	// Forget may have been called since it arrived.
	if number < len(r.requests) && r.requests[number].Arrived.Equal(got.Arrived) {
		r.requests[number].Status = status
		if r.requests[number].Succeeded() {
			r.events[got.Event] = struct{}{}
		}
	}
	r.mu.Unlock()
	w.WriteHeader(status)
}

// read verifies a delivery, and returns the hook to which it was sent.
func (r *Receiver) read(request *http.Request) (Request, Hook, error) {
	text, _ := strings.CutPrefix(request.URL.Path, "/hooks/")
	number, err := strconv.Atoi(text)
	r.mu.Lock()
	var hook Hook
	if err == nil && (number < 0 || number >= len(r.hooks)) {
		err = errors.New("no such hook")
	}
	if err == nil {
		hook = r.hooks[number]
	}
	r.mu.Unlock()
	if err != nil {
		return Request{}, hook, fmt.Errorf("path %q: %w", request.URL.Path, err)
	}
	body, err := io.ReadAll(io.LimitReader(request.Body, maxBodyBytes))
	if err != nil {
		return Request{}, hook, errBrokenOff
	}
	now := time.Now()
	if err := signature.Verify(request.Header.Get(signature.Header), body, hook.Secret, now, signature.Tolerance); err != nil {
		return Request{}, hook, err
	}
	event, err := uuid.Parse(request.Header.Get(signature.EventIDHeader))
	if err != nil {
		return Request{}, hook, fmt.Errorf("%s: %w", signature.EventIDHeader, err)
	}
	attempt, err := strconv.Atoi(request.Header.Get(signature.AttemptHeader))
	if err != nil {
		return Request{}, hook, fmt.Errorf("%s: %w", signature.AttemptHeader, err)
	}
	return Request{Event: event, Attempt: attempt, Arrived: now.Round(0)}, hook, nil
}
