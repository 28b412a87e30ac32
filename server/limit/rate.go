// Package limit has the limits on what callers may use: requests in a minute, requests at a time, and connections.
//
// Two limits are in the specification's part Limits: the requests of an API key, and the requests with unknown keys of an
// address. They count in windows of one minute. A window is a minute of UTC, so all servers have the same windows. The
// functions here only compute; the caller counts and passes the time. Slots and Listener count for one process.
package limit

import "time"

// The limits for each minute of UTC (specification, Limits).
const (
	// RequestsPerMinute is of one API key, across all routes.
	RequestsPerMinute = 120
	// UnknownKeysPerMinute is how many requests with unknown keys one address may make. With one more, all its requests are
	// refused until the minute ends.
	UnknownKeysPerMinute = 20
)

// Rate has the values of the rate limit headers, which every answer has.
type Rate struct {
	Limit int
	// Remaining is at least 0.
	Remaining int
	// Reset is how long until the count begins anew, in whole seconds, from 1 s to 60 s.
	Reset time.Duration
	// Limited is true if the request is refused because of the limit.
	Limited bool
}

// Minute returns the number of the minute of UTC that contains t, counted from 1970.
func Minute(t time.Time) int64 { return t.Unix() / int64(time.Minute/time.Second) }

// Reset returns the time from t to the next minute, from 1 s to 60 s, rounded up to whole seconds, so that a caller who waits
// that long is counted in it.
func Reset(t time.Time) time.Duration {
	left := t.Truncate(time.Minute).Add(time.Minute).Sub(t)
	return (left + time.Second - 1).Truncate(time.Second)
}

// Uncounted is the rate of a request that counts for no key.
func Uncounted(t time.Time) Rate {
	return Rate{Limit: RequestsPerMinute, Remaining: RequestsPerMinute, Reset: Reset(t)}
}

// Blocked is the rate of an address that sent too many unknown keys.
func Blocked(t time.Time) Rate {
	return Rate{Limit: RequestsPerMinute, Reset: Reset(t), Limited: true}
}

// Counted is the rate of a key that may make allowed requests in a minute, and has made count, including the current one.
func Counted(allowed, count int, t time.Time) Rate {
	return Rate{
		Limit:     allowed,
		Remaining: max(0, allowed-count),
		Reset:     Reset(t),
		Limited:   count > allowed,
	}
}

// TooManyUnknown takes how many requests with unknown keys one address has made in a minute.
func TooManyUnknown(count int) bool { return count > UnknownKeysPerMinute }
