package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Mistake is the probable cause of a refused delivery, for logs, the same in all languages. To branch, use errors.Is with
// ErrMismatch and the like.
type Mistake string

// NoHeader and UnreadableHeader come with ErrNoSignature, NoSecret with ErrNoSecret, TooOld and TooNew with ErrTimestamp,
// NoEvent with ErrPayload, and all others with ErrMismatch.
const (
	// NoHeader: there is no SignatureHeader.
	NoHeader Mistake = "no_header"
	// UnreadableHeader: SignatureHeader does not have the form t=…,v1=….
	UnreadableHeader Mistake = "unreadable_header"
	// AlteredHeader: no v1 in the header is 64 hexadecimal digits.
	AlteredHeader Mistake = "altered_header"
	// NoSecret: the secret is empty.
	NoSecret Mistake = "no_secret"
	// IsAPIKey: the secret is an API key.
	IsAPIKey Mistake = "api_key"
	// SecretForm: the secret is not complete, or has spaces or quotes around it.
	SecretForm Mistake = "secret_form"
	// EmptyBody: the body is empty, probably because something read it before.
	EmptyBody Mistake = "empty_body"
	// Base64Body: the body is still base64, as some gateways pass it on.
	Base64Body Mistake = "base64_body"
	// DecodedBody: the body was decoded as Latin-1, ASCII or another encoding than UTF-8.
	DecodedBody Mistake = "decoded_body"
	// ChangedBody: the JSON is not written as the service writes it, probably parsed and serialised again.
	ChangedBody Mistake = "changed_body"
	// WrongSecret: the body looks unchanged, so the secret is probably that of another webhook.
	WrongSecret Mistake = "wrong_secret"
	// TooOld and TooNew: the signature's time is too far from this machine's clock.
	TooOld Mistake = "too_old"
	TooNew Mistake = "too_new"
	// NoEvent: the signature matches, but the body is no event.
	NoEvent Mistake = "no_event"
)

var explanations = map[Mistake]string{
	NoHeader:         "there is no Service-Signature header: this is no delivery, or a proxy or framework dropped the header",
	UnreadableHeader: "the Service-Signature header does not have the form t=…,v1=…: pass its value as received, once",
	AlteredHeader:    "the signature in the header is not 64 hexadecimal digits: it was cut or changed on the way",
	NoSecret:         "the secret is empty; set it to the whsec_… that was shown when the webhook was made",
	IsAPIKey:         "the secret is an API key (svc_live_…); a webhook's secret starts with whsec_",
	SecretForm: "the secret is not of the form that was shown: whsec_ and what follows, all of it, without spaces, quotes or a " +
		"line's end",
	EmptyBody:   "the body is empty: something read it before; verify the bytes first",
	Base64Body:  "the body is still base64, as some gateways pass it on: decode it, and verify the bytes that come out",
	DecodedBody: "the body was decoded as Latin-1, as ASCII or as another encoding than UTF-8: verify the bytes exactly as received",
	ChangedBody: "the body is not written as the service writes it: it was probably parsed and written again; verify the bytes " +
		"exactly as received",
	WrongSecret: "the body looks untouched, so the secret is probably that of another webhook, an old one, or not the one that " +
		"storefront listen prints",
	TooOld:  "the signature is older than allowed",
	TooNew:  "the signature is of the future",
	NoEvent: "the signature matches, but the body is no event",
}

// Error says why Verify refused a delivery. It may be logged, because it quotes neither the header nor the secret.
type Error struct {
	// Mistake is the probable cause.
	Mistake Mistake

	text  string
	cause error
}

// Error explains the mistake.
func (e *Error) Error() string { return "verify webhook: " + e.text }

// Unwrap returns ErrNoSignature, ErrMismatch, ErrTimestamp, ErrNoSecret or ErrPayload.
func (e *Error) Unwrap() error { return e.cause }

// refuse takes one of the causes that Unwrap returns.
func refuse(cause error, body []byte, header string, secrets []string, now time.Time, tolerance time.Duration) *Error {
	e := &Error{cause: cause}
	switch {
	case errors.Is(cause, ErrNoSecret):
		e.Mistake = NoSecret
	case errors.Is(cause, ErrNoSignature) && header == "":
		e.Mistake = NoHeader
	case errors.Is(cause, ErrNoSignature):
		e.Mistake = UnreadableHeader
	case errors.Is(cause, ErrMismatch):
		e.Mistake = mismatch(body, header, secrets)
	case errors.Is(cause, ErrPayload):
		e.Mistake = NoEvent
	}
	e.text = explanations[e.Mistake]
	if errors.Is(cause, ErrPayload) {
		e.text += ": " + cause.Error()
	}
	if errors.Is(cause, ErrTimestamp) {
		e.Mistake, e.text = timestampMistake(header, now, tolerance)
	}
	return e
}

var (
	hexSum = regexp.MustCompile(`(?:^|,)v1=[0-9a-f]{64}(?:,|$)`)
	// secretForm matches a webhook's secret, or one that storefront listen prints.
	secretForm = regexp.MustCompile(`^whsec_(?:[0-9A-Za-z_-]{43}|[0-9a-f]{64})$`)
	jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// escape matches any escape in a JSON string, and requiredEscape those that the service writes.
	escape         = regexp.MustCompile(`\\(?:u[0-9A-Fa-f]{4}|.)`)
	requiredEscape = regexp.MustCompile(`^\\(?:["\\bfnrt]|u00[01].|u202[89])$`)
)

// base64Body matches the beginning of an event's body in base64.
var base64Body = regexp.MustCompile(`^[\s"]*eyJpZCI6I`)

// continuation matches a continuation byte of UTF-8 that is read as Latin-1 or Windows-1252.
const continuation = `[\x{80}-\x{BF}\x{152}\x{153}\x{160}\x{161}\x{178}\x{17D}\x{17E}\x{192}\x{2C6}\x{2DC}\x{2013}-\x{203A}\x{20AC}\x{2122}]`

var (
	// utf8AsLatin1 matches a UTF-8 character that is read so.
	utf8AsLatin1 = regexp.MustCompile(`[\x{C2}-\x{DF}]` + continuation + `|[\x{E0}-\x{EF}]` + continuation + `{2}|[\x{F0}-\x{F4}]` +
		continuation + `{3}`)
	notASCII = regexp.MustCompile(`[^\x00-\x7F]`)
	// utf8AsASCII matches traces of UTF-8 that was read as ASCII. Node drops the highest bit of each byte: Nd\xC3\xA9 becomes
	// NdC) and an emoji gets control characters. Other decoders replace each byte by U+FFFD.
	utf8AsASCII = regexp.MustCompile(`\x{FFFD}|[\x00-\x08\x0e-\x1f]|[a-z]C[\t!-/;]|[ "]C[\t()*+][a-z]`)
)

// isDecoded reports whether the body is not UTF-8, or UTF-8 that was read in another encoding.
func isDecoded(body []byte) bool {
	rest := utf8AsLatin1.ReplaceAll(body, nil)
	return !utf8.Valid(body) || len(rest) < len(body) && !notASCII.Match(rest) || utf8AsASCII.Match(body)
}

// mismatch guesses why no signature matches.
func mismatch(body []byte, header string, secrets []string) Mistake {
	if !hexSum.MatchString(header) {
		return AlteredHeader
	}
	for _, secret := range secrets {
		switch {
		case strings.HasPrefix(secret, "svc_live_"):
			return IsAPIKey
		case secret != "" && !secretForm.MatchString(secret):
			return SecretForm
		}
	}
	switch {
	case len(body) == 0:
		return EmptyBody
	case base64Body.Match(body):
		return Base64Body
	case isDecoded(body):
		return DecodedBody
	case !isServiceJSON(body):
		return ChangedBody
	}
	return WrongSecret
}

// isServiceJSON reports whether JSON has the id first, no spaces between the tokens, and only the escapes that JSON requires,
// as the service writes it. A body that was serialised again seldom has.
func isServiceJSON(body []byte) bool {
	text := string(body)
	if !strings.HasPrefix(text, `{"id":"`) || !json.Valid(body) || strings.ContainsAny(jsonString.ReplaceAllString(text, ""),
		" \t\r\n") {
		return false
	}
	for _, sequence := range escape.FindAllString(text, -1) {
		if !requiredEscape.MatchString(strings.ToLower(sequence)) {
			return false
		}
	}
	return true
}

func timestampMistake(header string, now time.Time, tolerance time.Duration) (Mistake, string) {
	var at int64
	for part := range strings.SplitSeq(header, ",") {
		if _, err := fmt.Sscanf(part, "t=%d", &at); err == nil {
			break
		}
	}
	clock := fmt.Sprintf("by this machine's clock, which reads %s, and %d are allowed", now.UTC().Format("2006-01-02T15:04:05Z"),
		int64(tolerance/time.Second))
	if age := now.Unix() - at; age > 0 {
		return TooOld, fmt.Sprintf("%s: it was made %d seconds ago %s; either the delivery was held up or sent again, or this clock "+
			"is fast",
			explanations[TooOld], age, clock)
	}
	return TooNew, fmt.Sprintf("%s: it was made in %d seconds %s; this clock is slow, or the sender's is fast", explanations[TooNew],
		at-now.Unix(), clock)
}
