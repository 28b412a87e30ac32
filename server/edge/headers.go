package edge

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/server/limit"
)

// The headers of every answer, in the specification's spelling, which HTTP/1 sends unchanged.
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
	headerRequestID = "X-Request-Id"
	headerChallenge = "WWW-Authenticate"
)

var (
	contentTypeJSON = []string{"application/json"}
	// challenge is the specification's, section "Authentication errors".
	challenge = []string{`Bearer realm="Service API"`}
)

// number returns a header value.
func number(n int) []string { return []string{strconv.Itoa(n)} }

// seconds is a duration in whole seconds, rounded up.
func seconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}

// setRate writes the rate headers.
func (x *exchange) setRate(rate limit.Rate) {
	h := x.writer.Header()
	h[headerLimit] = number(rate.Limit)
	h[headerRemaining] = number(rate.Remaining)
	h[headerReset] = number(seconds(rate.Reset))
}

// setID gives the request an identifier of its own and writes it.
func (x *exchange) setID() {
	x.newID()
	x.writer.Header()[headerRequestID] = x.id[:]
}

// newID gives the request an identifier of its own.
func (x *exchange) newID() {
	x.request.ID = uuid.New()
	x.id[0] = x.request.ID.String()
}
