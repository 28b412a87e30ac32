// Package limit has the limits on what callers may use: requests in a minute, requests at a time, and connections.
//
// Two limits are in the specification's part Limits: the requests of an API key, and the requests with unknown keys of an
// address. They count in windows of one minute. A window is a minute of UTC, so all servers have the same windows. The
// functions here only compute; the caller counts and passes the time. Slots and Listener count for one process.
package limit

import "time"

// These are the limits for each minute of UTC (specification, Limits).
const (
	// RequestsPerMinute is how many requests one API key may make, across all routes.
	RequestsPerMinute = 120
	// UnknownKeysPerMinute is how many requests with unknown keys one address may make in a minute. With one more, all its
	// requests are refused until the minute ends.
	UnknownKeysPerMinute = 20
)

// Rate has the values of an answer's rate limit headers. It is set for every answer, because every answer has these headers.
type Rate struct {
	// Limit is how many requests are allowed in a minute.
	Limit int
	// Remaining is how many requests are left in the current minute, at least 0.
	Remaining int
	// Reset is how long until the count begins anew, in whole seconds, from 1 s to 60 s.
	Reset time.Duration
	// Limited is true if the request is refused because of the limit. The answer then tells the caller to wait for Reset.
	Limited bool
}

// Minute returns the number of the minute of UTC that contains t, counted from 1970. Requests are counted by this number.
func Minute(t time.Time) int64 { return t.Unix() / int64(time.Minute/time.Second) }

// Reset returns how long it is from t to the next minute of UTC, from 1 s to 60 s. It rounds up to whole seconds, so that a
// caller who waits that long is counted in the next minute.
func Reset(t time.Time) time.Duration {
	left := t.Truncate(time.Minute).Add(time.Minute).Sub(t)
	return (left + time.Second - 1).Truncate(time.Second)
}

// Uncounted returns the rate of a request at t that counts for no key: no request of the minute is used.
func Uncounted(t time.Time) Rate {
	return Rate{Limit: RequestsPerMinute, Remaining: RequestsPerMinute, Reset: Reset(t)}
}

// Blocked returns the rate of a request at t from an address that sent too many unknown keys.
func Blocked(t time.Time) Rate {
	return Rate{Limit: RequestsPerMinute, Reset: Reset(t), Limited: true}
}

// Counted returns the rate of a key that may make allowed requests in a minute, and has made count requests in the minute of t,
// including the current request. Limited is true if the current request is over the limit.
func Counted(allowed, count int, t time.Time) Rate {
	return Rate{
		Limit:     allowed,
		Remaining: max(0, allowed-count),
		Reset:     Reset(t),
		Limited:   count > allowed,
	}
}

// TooManyUnknown reports whether count is over the limit. count is the number of requests with unknown keys that one address
// has made in a minute.
func TooManyUnknown(count int) bool { return count > UnknownKeysPerMinute }
