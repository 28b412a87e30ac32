package message

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"go.storefront.example/server/apierr"
)

// The headers with a caller's deadline.
const (
	headerConnectTimeout = "Connect-Timeout-Ms"
	headerGRPCTimeout    = "Grpc-Timeout"
)

// Deadline returns the request with the deadline that its caller set, and a function to call when
// it is answered. For a malformed deadline it returns an error and the unchanged request. It
// removes the header, so that Connect does not refuse it in its own words.
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
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). It caps the result at the
// longest Duration.
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
