// Package webhook verifies the deliveries of a store's webhooks and reads their events. It is for
// the server that receives them:
//
//	func receive(w http.ResponseWriter, r *http.Request) {
//		event, err := webhook.Read(r, os.Getenv("WEBHOOK_SECRET"))
//		if err != nil {
//			http.Error(w, err.Error(), http.StatusBadRequest)
//			return
//		}
//		switch data := event.Data.(type) {
//		case *storefrontv1.Order:
//			…
//
// The package verifies that the service signed the received bytes, and only then parses them. It
// refuses an empty secret, because anybody could sign with it. Unknown types of event, fields and enum
// values are no errors; Event.Raw has the data as received. An event may come more than once, always
// with the same Event.ID. The package does not store ids, so your program must recognise repeated events.
package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.storefront.example/worker/signature"
)

// The headers of a delivery (specification, Delivery).
const (
	// SignatureHeader carries the signature, t=<unix seconds>,v1=<hex>.
	SignatureHeader = signature.Header
	// EventIDHeader is not signed; the id in the body is.
	EventIDHeader = signature.EventIDHeader
	// EventTypeHeader is not signed; the type in the body is.
	EventTypeHeader = signature.EventTypeHeader
	// AttemptHeader carries the number of the attempt, 1 to 8. It is not signed.
	AttemptHeader = signature.AttemptHeader
)

// DefaultTolerance is between the receiver's clock and the signature's time, in either direction, unless WithTolerance sets
// another.
const DefaultTolerance = signature.Tolerance

// MaxBodyBytes is what Read accepts, far more than an order with very many items.
const MaxBodyBytes = 4 << 20

// Errors of a refused delivery, for errors.Is.
var (
	// ErrNoSignature: the header is missing, or does not have the form t=…,v1=….
	ErrNoSignature = signature.ErrNoSignature
	// ErrMismatch: the signature is for another secret or body, also one that was parsed and serialised again.
	ErrMismatch = signature.ErrMismatch
	// ErrTimestamp: the signature matches, but its time is too far from now: somebody sent a recorded delivery again, or a
	// clock is wrong.
	ErrTimestamp = signature.ErrTimestamp
	// ErrNoSecret: the secret is empty.
	ErrNoSecret = errors.New("the secret is empty; set it to the whsec_… that was shown when the webhook was made")
	// ErrPayload: the signature matches, but the body is not an event.
	ErrPayload = errors.New("the body is no event")
	// ErrTooLarge: the body has more than MaxBodyBytes.
	ErrTooLarge = errors.New("the body is too large")
)

// Option is a setting of Verify and Read.
type Option func(*settings)

type settings struct {
	secrets   []string
	tolerance time.Duration
	now       func() time.Time
}

// WithSecrets also accepts these secrets. When you replace a webhook's secret, accept both for a while, so that no delivery is
// refused. Empty secrets are ignored.
func WithSecrets(more ...string) Option {
	return func(s *settings) { s.secrets = append(s.secrets, more...) }
}

// WithTolerance sets the distance between the receiver's clock and the signature's time, in whole seconds, by default
// DefaultTolerance.
func WithTolerance(d time.Duration) Option {
	return func(s *settings) { s.tolerance = d }
}

// WithNow replaces the clock, for tests with recorded deliveries.
func WithNow(now func() time.Time) Option {
	return func(s *settings) { s.now = now }
}

// Verify returns the event of a delivery, from the body exactly as received, the value of SignatureHeader, and the whole
// secret, including whsec_. The error is an *Error, which explains the probable mistake and wraps ErrNoSignature, ErrMismatch,
// ErrTimestamp, ErrNoSecret or ErrPayload. Goroutines may share the body.
func Verify(body []byte, header, secret string, options ...Option) (*Event, error) {
	s := settings{tolerance: DefaultTolerance, now: time.Now}
	for _, set := range options {
		set(&s)
	}
	now := s.now()
	secrets := append([]string{secret}, s.secrets...)
	if secret == "" {
		return nil, refuse(ErrNoSecret, body, header, secrets, now, s.tolerance)
	}
	err := signature.Verify(header, body, secret, now, s.tolerance)
	for _, other := range s.secrets {
		if errors.Is(err, ErrMismatch) && other != "" {
			err = signature.Verify(header, body, other, now, s.tolerance)
		}
	}
	var event *Event
	if err == nil {
		event, err = parse(body)
	}
	if err != nil {
		return nil, refuse(err, body, header, secrets, now, s.tolerance)
	}
	return event, nil
}

// Read reads at most MaxBodyBytes and returns the event. It returns the errors of Verify, ErrTooLarge, or the error with which
// the body could not be read.
// Answer a 2xx within ten seconds, before you do the event's work; otherwise the delivery is repeated.
func Read(r *http.Request, secret string, options ...Option) (*Event, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBodyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read webhook: %w", err)
	}
	if len(body) > MaxBodyBytes {
		return nil, fmt.Errorf("read webhook: %w", ErrTooLarge)
	}
	return Verify(body, r.Header.Get(SignatureHeader), secret, options...)
}

// Sign returns the service's SignatureHeader for a body, for tests of a receiver.
func Sign(body []byte, secret string, at time.Time) string {
	return signature.Sign(secret, at, body)
}
