// Package signature signs the deliveries of webhooks and verifies them: the header of the
// specification's Delivery part, the other headers' names, and new secrets. The scheme is the one
// of Stripe's "t=,v1=" header, so that the verifiers published for it accept a delivery of ours.
// It keeps no secret, knows no clock and sends nothing: the caller brings the secret, says what
// time it is and decides which errors to show. It imports nothing of the project.
package signature

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// The headers of a delivery beside Content-Type (specification, Delivery).
const (
	// Header carries the signature: "t=<unix seconds>,v1=<hex>".
	Header = "Service-Signature"
	// EventIDHeader carries the id of the event, the same at every attempt.
	EventIDHeader = "Service-Event-Id"
	// EventTypeHeader carries the type of the event.
	EventTypeHeader = "Service-Event-Type"
	// AttemptHeader carries the number of the attempt, 1 to 8.
	AttemptHeader = "Service-Delivery-Attempt"
	// UserAgent is the value of User-Agent.
	UserAgent = "Service-Webhooks/1.0"
)

// SecretPrefix is what every secret starts with: fixed, so that secret scanners recognise one
// (specification, Webhook registration).
const SecretPrefix = "whsec_"

// Tolerance is how far the clock of a receiver may be from the signature's time before it should
// refuse: the five minutes that the published verifiers take.
const Tolerance = 5 * time.Minute

// MaxHeaderBytes bounds the header that Verify reads. A header of ours has 80 bytes; a few more
// signatures of other schemes or secrets still fit.
const MaxHeaderBytes = 1024

// The reasons why Verify refuses; none of them holds anything of the header or the secret.
var (
	// ErrNoSignature: the header is missing, longer than MaxHeaderBytes, or lacks exactly one
	// readable t, or a v1.
	ErrNoSignature = errors.New("no readable signature in the header")
	// ErrMismatch: no v1 of the header was made of this body and this secret at that time.
	ErrMismatch = errors.New("signature does not match")
	// ErrTimestamp: the signature is right and its time is too far from now.
	ErrTimestamp = errors.New("signature is outside the tolerated time")
)

// secretBytes is the randomness of a secret: as much as the hash can keep apart.
const secretBytes = sha256.Size

// The scheme is HMAC-SHA256 over "<t>.<body>", in lower-case hex.
const (
	timePart   = "t="
	schemePart = "v1="
	hexDigits  = 2 * sha256.Size
)

// separator stands between the time and the body.
var separator = []byte{'.'}

// NewSecret makes a new secret from the system's randomness: SecretPrefix and 32 bytes in
// base64url without padding (RFC 4648, section 5). It is to be shown once and stored sealed only.
func NewSecret() string {
	var random [secretBytes]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the process instead
	return SecretPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// Sign returns the value of Header for a body sent at a time, of which whole Unix seconds count.
// The key is the whole text of the secret, its prefix included. Goroutines may share the body.
func Sign(secret string, at time.Time, body []byte) string {
	var room [len(timePart) + 20 + 1 + len(schemePart) + hexDigits]byte // 20 digits spell any int64
	value := strconv.AppendInt(append(room[:0], timePart...), at.Unix(), 10)
	seconds := value[len(timePart):]
	var sum [hexDigits]byte
	spelled := appendSum(sum[:0], secret, seconds, body)
	value = append(append(value, ','), schemePart...)
	return string(append(value, spelled...))
}

// appendSum appends the signature of a body under the text of a time, in hex.
func appendSum(b []byte, secret string, seconds, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(seconds)
	mac.Write(separator)
	mac.Write(body)
	var sum [sha256.Size]byte
	return hex.AppendEncode(b, mac.Sum(sum[:0]))
}

// Verify tells whether the value of Header was made of the body with the secret, within a
// tolerance of now to either side; now and the header count in whole seconds. One matching v1 of
// several is enough, and other schemes are ignored, so that a sender may add signatures. The
// comparison takes the same time whatever differs. It returns ErrNoSignature, ErrMismatch or
// ErrTimestamp; the time is looked at last, because it means nothing before the signature holds.
func Verify(header string, body []byte, secret string, now time.Time, tolerance time.Duration) error {
	if len(header) > MaxHeaderBytes {
		return ErrNoSignature
	}
	var seconds string
	times, candidates := 0, 0
	for part := range strings.SplitSeq(header, ",") {
		if text, is := strings.CutPrefix(part, timePart); is {
			seconds = text
			times++
		} else if strings.HasPrefix(part, schemePart) {
			candidates++
		}
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	// One spelling for one time: what is signed is the text, and "+5" or "05" would be others.
	if err != nil || times != 1 || candidates == 0 || strconv.FormatInt(at, 10) != seconds {
		return ErrNoSignature
	}
	var room [hexDigits]byte
	want := appendSum(room[:0], secret, []byte(seconds), body)
	match := 0
	for part := range strings.SplitSeq(header, ",") {
		if given, is := strings.CutPrefix(part, schemePart); is {
			match |= subtle.ConstantTimeCompare([]byte(given), want)
		}
	}
	if match == 0 {
		return ErrMismatch
	}
	// Compared as times, not as a difference: that of two far ones does not fit a duration.
	signed, now := time.Unix(at, 0), time.Unix(now.Unix(), 0)
	if signed.Before(now.Add(-tolerance)) || signed.After(now.Add(tolerance)) {
		return ErrTimestamp
	}
	return nil
}
