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

// headerNumber returns a header value.
func headerNumber(n int) []string { return []string{strconv.Itoa(n)} }

// setRate writes the rate headers.
func (x *exchange) setRate(rate limit.Rate) {
	h := x.writer.Header()
	h[headerLimit] = headerNumber(rate.Limit)
	h[headerRemaining] = headerNumber(rate.Remaining)
	h[headerReset] = headerNumber(int(rate.Reset / time.Second))
}

// setID gives the request an identifier of its own and writes it.
func (x *exchange) setID() {
	x.request.ID = uuid.New()
	x.id[0] = x.request.ID.String()
	x.writer.Header()[headerRequestID] = x.id[:]
}
