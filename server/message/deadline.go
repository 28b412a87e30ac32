package message

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"go.storefront.example/server/apierr"
)

// The headers in which a caller sends how long it waits.
const (
	headerConnectTimeout = "Connect-Timeout-Ms"
	headerGRPCTimeout    = "Grpc-Timeout"
)

// Deadline returns the request under the deadline that its caller set, and what to call when it is
// answered. A deadline that is malformed is an error, beside the request as it was. The header is
// removed, so that Connect does not refuse it with a text of its own.
func Deadline(r *http.Request) (*http.Request, context.CancelFunc, error) {
	name, parse := headerConnectTimeout, connectTimeout
	if isGRPC(r) {
		name, parse = headerGRPCTimeout, grpcTimeout
	}
	values := r.Header[name]
	delete(r.Header, name)
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return r, func() {}, nil
	}
	timeout, ok := parse(values[0])
	if !ok || len(values) > 1 {
		return r, func() {}, apierr.Invalid("The header " + name + " is malformed.")
	}
	ctx, stop := context.WithTimeout(r.Context(), timeout)
	return r.WithContext(ctx), stop, nil
}

// connectTimeout reads up to ten digits of milliseconds (https://connectrpc.com/docs/protocol).
func connectTimeout(text string) (time.Duration, bool) {
	n, ok := digits(text, 10)
	return time.Duration(n) * time.Millisecond, ok
}

// grpcTimeout reads up to eight digits and a unit
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). What is longer than a Duration
// is the longest one.
func grpcTimeout(text string) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	n, ok := digits(text[:len(text)-1], 8)
	unit, known := map[byte]time.Duration{
		'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
	}[text[len(text)-1]]
	if !ok || !known {
		return 0, false
	}
	if n > math.MaxInt64/int64(unit) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * unit, true
}

func digits(text string, most int) (int64, bool) {
	if text == "" || len(text) > most {
		return 0, false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
