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
// The package owns the way from bytes that anybody may have sent to an event that the service
// signed. It refuses to look into a body before the signature over it holds, and to verify with an
// empty secret, for which anybody can sign. What is newer than the program is never an error: an
// event of an unknown type, an unknown field, an unknown value of an enum; Event.Raw has the data as
// it came. It keeps no secret, sends nothing, and remembers nothing: an event may come more than
// once, and Event.ID is the same each time.
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
	// EventIDHeader carries the event's id. Unlike that of the body, it is not signed.
	EventIDHeader = signature.EventIDHeader
	// EventTypeHeader carries the event's type. Unlike that of the body, it is not signed.
	EventTypeHeader = signature.EventTypeHeader
	// AttemptHeader carries the number of the attempt, 1 to 8. It is not signed.
	AttemptHeader = signature.AttemptHeader
)

// DefaultTolerance is how far the receiver's clock may be from the signature's time, to either
// side, where WithTolerance says nothing.
const DefaultTolerance = signature.Tolerance

// MaxBodyBytes is how much Read reads of a request. The largest event is an order with very many
// items, and far smaller.
const MaxBodyBytes = 4 << 20

// Why a delivery is refused; errors.Is tells them apart.
var (
	// ErrNoSignature: the header is missing, or is not of the form t=…,v1=….
	ErrNoSignature = signature.ErrNoSignature
	// ErrMismatch: the signature was made of another body or with another secret. A body that was
	// parsed and written anew is another body.
	ErrMismatch = signature.ErrMismatch
	// ErrTimestamp: the signature is right and its time is too far from now: a delivery that was
	// recorded and sent again by somebody else, or a clock that is wrong.
	ErrTimestamp = signature.ErrTimestamp
	// ErrNoSecret: the secret is empty.
	ErrNoSecret = errors.New("the secret is empty; set it to the whsec_… that was shown when the webhook was made")
	// ErrPayload: the signature is right and the body is no event.
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

// WithSecrets accepts signatures of these secrets too. Regenerating a secret makes the old one sign
// nothing from then on: to lose no delivery, accept both until every receiver has the new one.
// Empty ones are left out, so that a setting may stay empty between two changes.
func WithSecrets(more ...string) Option {
	return func(s *settings) { s.secrets = append(s.secrets, more...) }
}

// WithTolerance says how far the receiver's clock may be from the signature's time, in whole
// seconds; the default is DefaultTolerance.
func WithTolerance(d time.Duration) Option {
	return func(s *settings) { s.tolerance = d }
}

// WithNow takes the time from elsewhere, for tests of deliveries that were recorded.
func WithNow(now func() time.Time) Option {
	return func(s *settings) { s.now = now }
}

// Verify returns the event of a delivery: its body, byte for byte as it came, and the value of
// SignatureHeader. The secret is the whole text that was shown, whsec_ included. The error is
// ErrNoSignature, ErrMismatch, ErrTimestamp, ErrNoSecret or ErrPayload. Goroutines may share the body.
func Verify(body []byte, header, secret string, options ...Option) (*Event, error) {
	s := settings{tolerance: DefaultTolerance, now: time.Now}
	for _, set := range options {
		set(&s)
	}
	if secret == "" {
		return nil, fmt.Errorf("verify webhook: %w", ErrNoSecret)
	}
	now := s.now()
	err := signature.Verify(header, body, secret, now, s.tolerance)
	for _, other := range s.secrets {
		if errors.Is(err, ErrMismatch) && other != "" {
			err = signature.Verify(header, body, other, now, s.tolerance)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("verify webhook: %w", err)
	}
	return parse(body)
}

// Read reads the body of a delivery, at most MaxBodyBytes of it, and returns its event. The error
// is one of Verify, ErrTooLarge, or what reading ended with. Answer a 2xx within ten seconds, before the
// event's work is done; any other answer, and the delivery comes again.
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

// Sign returns the value of SignatureHeader for a body that is sent at a time, as the service would
// make it: for tests of a receiver.
func Sign(body []byte, secret string, at time.Time) string {
	return signature.Sign(secret, at, body)
}
