// Package signature signs webhook deliveries and verifies them: the signature header of the specification's Delivery part, the
// names of the other headers, and new secrets. The scheme is that of Stripe's "t=,v1=" header, so published verifiers accept
// our deliveries. It stores no secret, reads no clock and sends nothing. It imports nothing of the project.
package signature

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a delivery besides Content-Type (specification, Delivery).
const (
	// Header carries the signature: "t=<unix seconds>,v1=<hex>".
	Header = "Service-Signature"
	// EventIDHeader is the same at every attempt.
	EventIDHeader = "Service-Event-Id"
	// EventTypeHeader carries the type of the event.
	EventTypeHeader = "Service-Event-Type"
	// AttemptHeader carries the number of the attempt, 1 to 8.
	AttemptHeader = "Service-Delivery-Attempt"
	// UserAgent is the value of User-Agent.
	UserAgent = "Service-Webhooks/1.0"
)

// SecretPrefix lets secret scanners recognise a secret (specification, Webhook registration).
const SecretPrefix = "whsec_"

// Tolerance is the recommended distance between the signature's time and a receiver's clock, as in the published verifiers.
const Tolerance = 5 * time.Minute

// MaxHeaderBytes bounds the header that Verify reads. Ours has 80 bytes; the rest is for signatures of other schemes or secrets.
const MaxHeaderBytes = 1024

// The errors of Verify. They contain nothing of the header or the secret.
var (
	// ErrNoSignature: the header is missing, is longer than MaxHeaderBytes, has not exactly one readable t, or has no v1.
	ErrNoSignature = errors.New("no readable signature in the header")
	// ErrMismatch: no v1 of the header matches this body, secret and time.
	ErrMismatch = errors.New("signature does not match")
	// ErrTimestamp: the signature matches, but its time is too far from now.
	ErrTimestamp = errors.New("signature is outside the tolerated time")
)

// secretBytes is the hash's size, because a longer secret would not make the signature stronger.
const secretBytes = sha256.Size

// The scheme is HMAC-SHA256 over "<t>.<body>", in lower-case hex.
const (
	timePart   = "t="
	schemePart = "v1="
	hexDigits  = 2 * sha256.Size
)

var separator = []byte{'.'}

// NewSecret returns SecretPrefix and 32 random bytes in base64url without padding (RFC 4648, section 5). The text has only
// letters and digits, so that a double click selects it, at the cost of two bits. Show it once and store it only sealed.
func NewSecret() string {
	for {
		var random [secretBytes]byte
		_, _ = rand.Read(random[:]) // rand.Read never fails; it crashes the process instead
		if text := base64.RawURLEncoding.EncodeToString(random[:]); !strings.ContainsAny(text, "-_") {
			return SecretPrefix + text
		}
	}
}

// IsSecret reports whether a text has the prefix and 32 bytes in base64url.
func IsSecret(text string) bool {
	encoded, ok := strings.CutPrefix(text, SecretPrefix)
	random, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	// DecodeString ignores line ends.
	return ok && err == nil && len(random) == secretBytes && !strings.ContainsAny(encoded, "\r\n")
}

// Sign returns the value of Header for a time in whole Unix seconds. The key is the whole text of the secret, with its prefix.
// Goroutines may share the body.
func Sign(secret string, at time.Time, body []byte) string {
	var buf [len(timePart) + 20 + 1 + len(schemePart) + hexDigits]byte // any int64 fits 20 digits
	value := strconv.AppendInt(append(buf[:0], timePart...), at.Unix(), 10)
	seconds := value[len(timePart):]
	var sum [hexDigits]byte
	signed := appendSum(sum[:0], secret, seconds, body)
	value = append(append(value, ','), schemePart...)
	return string(append(value, signed...))
}

// Headers returns the signed header of one attempt (specification, Delivery). attempt counts from 1.
func Headers(secret string, at time.Time, eventID, eventType string, attempt int, body []byte) http.Header {
	return http.Header{
		"Content-Type":  {"application/json"},
		"User-Agent":    {UserAgent},
		Header:          {Sign(secret, at, body)},
		EventIDHeader:   {eventID},
		EventTypeHeader: {eventType},
		AttemptHeader:   {strconv.Itoa(attempt)},
	}
}

// appendSum appends the signature in hex to b. seconds is the sending time in decimal.
func appendSum(b []byte, secret string, seconds, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(seconds)
	mac.Write(separator)
	mac.Write(body)
	var sum [sha256.Size]byte
	return hex.AppendEncode(b, mac.Sum(sum[:0]))
}

// Verify checks the value of Header within a tolerance of now in either direction, in whole seconds. One matching v1 of several
// is enough, and other schemes are ignored. It takes constant time. It returns ErrNoSignature, ErrMismatch or ErrTimestamp; the
// time means nothing until the signature matches.
func Verify(header string, body []byte, secret string, now time.Time, tolerance time.Duration) error {
	if len(header) > MaxHeaderBytes {
		return ErrNoSignature
	}
	var seconds string
	times, candidates := 0, 0
	for part := range strings.SplitSeq(header, ",") {
		if text, ok := strings.CutPrefix(part, timePart); ok {
			seconds = text
			times++
		} else if strings.HasPrefix(part, schemePart) {
			candidates++
		}
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	// The signature covers the time's text, so "+5" and "05" are not the "5" that was signed.
	if err != nil || times != 1 || candidates == 0 || strconv.FormatInt(at, 10) != seconds {
		return ErrNoSignature
	}
	var buf [hexDigits]byte
	want := appendSum(buf[:0], secret, []byte(seconds), body)
	match := 0
	for part := range strings.SplitSeq(header, ",") {
		if given, ok := strings.CutPrefix(part, schemePart); ok {
			match |= subtle.ConstantTimeCompare([]byte(given), want)
		}
	}
	if match == 0 {
		return ErrMismatch
	}
	// The difference of two distant times overflows a Duration.
	signed, now := time.Unix(at, 0), time.Unix(now.Unix(), 0)
	if signed.Before(now.Add(-tolerance)) || signed.After(now.Add(tolerance)) {
		return ErrTimestamp
	}
	return nil
}
