package edge

import (
	"net/http"
	"strconv"
	"time"
)

// HTTP/1 sends these headers in the specification's spelling.
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
	headerChallenge = "WWW-Authenticate"
)

var (
	contentTypeJSON = []string{"application/json"}
	// challenge is the value of WWW-Authenticate (specification, Authentication errors).
	challenge = []string{`Bearer realm="Service API"`}
)

func headerNumber(n int) []string { return []string{strconv.Itoa(n)} }

// setHeaders shows the rate, and what the refusal's code requires, in every protocol.
func (x *exchange) setHeaders() {
	h := x.Header()
	h[headerLimit], h[headerRemaining] = headerNumber(x.rate.Limit), headerNumber(x.rate.Remaining)
	h[headerReset] = headerNumber(int(x.rate.Reset / time.Second))
	if x.Refusal == nil {
		return
	}
	switch x.Refusal.Status() {
	case http.StatusServiceUnavailable:
		h["Retry-After"] = []string{"1"}
	case http.StatusUnauthorized:
		h[headerChallenge] = challenge
	case http.StatusTooManyRequests:
		h["Retry-After"] = h[headerReset]
	}
}
