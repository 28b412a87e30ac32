// Package webhooktest has a receiver of webhooks, for tests of programs that cause events.
//
//	receiver := webhooktest.NewReceiver(secret)
//	defer receiver.Close()
//	… // register receiver.URL, or storefront listen --forward-to, and make something happen
//	event, err := receiver.Next(ctx)
//
// It listens on a free port of the loopback address, and verifies each delivery as package webhook does.
package webhooktest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"

	"go.storefront.example/client/webhook"
)

// maxWaiting deliveries may wait for Next. Others are answered 503, so that the sender retries.
const maxWaiting = 1000

// Receiver is a running receiver. Goroutines may share it.
type Receiver struct {
	// URL is the address to post deliveries to.
	URL string

	server  *httptest.Server
	arrived chan delivery

	mu     sync.Mutex
	secret string
}

type delivery struct {
	event *webhook.Event
	err   error
}

// NewReceiver starts a receiver on a free port. The secret may be set later with SetSecret, because a webhook gets its secret
// when you register the URL.
func NewReceiver(secret string) *Receiver {
	r := &Receiver{secret: secret, arrived: make(chan delivery, maxWaiting)}
	r.server = httptest.NewServer(r)
	r.URL = r.server.URL
	return r
}

// SetSecret sets the secret with which deliveries are verified from now on.
func (r *Receiver) SetSecret(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret = secret
}

// ServeHTTP answers 204, or 400 if the delivery cannot be verified.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	secret := r.secret
	r.mu.Unlock()
	event, err := webhook.Read(request, secret)
	select {
	case r.arrived <- delivery{event, err}:
	default:
		http.Error(w, "too many deliveries wait for Next", http.StatusServiceUnavailable)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Next waits for the next event, in the order of arrival. The error is the context's or, if the delivery was refused, its
// *webhook.Error.
func (r *Receiver) Next(ctx context.Context) (*webhook.Event, error) {
	select {
	case d := <-r.arrived:
		return d.event, d.err
	default:
	}
	select {
	case d := <-r.arrived:
		return d.event, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close ends the receiver, and waits for deliveries that are being read.
func (r *Receiver) Close() { r.server.Close() }
