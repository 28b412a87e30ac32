// Package limit bounds what callers use: requests in a minute, requests at a time, connections.
//
// The two limits of the specification's Limits part, the requests of one API key and the unknown keys of one address, count in
// windows of one minute that begin with the UTC minute, so that every server sees the same window. This package only computes;
// the caller counts, and passes the time. Slots and Listener count for one process.
package limit

import "time"

// The limits, in one UTC minute each (specification, Limits).
const (
	// RequestsPerMinute is how many requests one API key may make, across all routes.
	RequestsPerMinute = 120
	// UnknownKeysPerMinute is how many requests with an unknown key one address may make before its
	// keys are no longer looked up.
	UnknownKeysPerMinute = 20
)

// window is the length of a window; it divides the hour, so windows begin with the UTC minute.
const window = time.Minute

// Rate is the state of the limit that a response reports. The zero value is not sent.
type Rate struct {
	// Limit is how many requests a minute are allowed.
	Limit int
	// Remaining is how many of them are left in the current minute, at least 0.
	Remaining int
	// Reset is the time until the counter restarts from zero, in whole seconds, 1 s to 60 s.
	Reset time.Duration
	// Limited is true if the request is refused because it exceeds the limit; the response then asks the caller to wait for
	// Reset.
	Limited bool
}

// Minute returns the number of the window that contains t: minutes since 1970 in UTC.
func Minute(t time.Time) int64 { return t.Unix() / int64(window/time.Second) }

// Reset returns the time from t to the next window, rounded up to whole seconds: 1 s to 60 s. A caller that waits that long
// arrives in the next window.
func Reset(t time.Time) time.Duration {
	left := t.Truncate(window).Add(window).Sub(t)
	// Round up, because a wait that is a fraction too short would end in the same window.
	return (left + time.Second - 1).Truncate(time.Second)
}

// Uncounted returns the rate of a request at t that counts on no key: the whole limit is left.
func Uncounted(t time.Time) Rate {
	return Rate{Limit: RequestsPerMinute, Remaining: RequestsPerMinute, Reset: Reset(t)}
}

// Blocked returns the rate of a request at t from an address that presented too many unknown keys.
func Blocked(t time.Time) Rate {
	return Rate{Limit: RequestsPerMinute, Reset: Reset(t), Limited: true}
}

// Counted returns the rate after count requests of one key in the minute of t, including the current one. It is Limited if the
// current one is beyond the limit.
func Counted(count int, t time.Time) Rate {
	return Rate{
		Limit:     RequestsPerMinute,
		Remaining: max(0, RequestsPerMinute-count),
		Reset:     Reset(t),
		Limited:   count > RequestsPerMinute,
	}
}

// TooManyUnknown reports whether count requests with unknown keys from one address in a minute, including the current one, are
// beyond the limit.
func TooManyUnknown(count int) bool { return count > UnknownKeysPerMinute }
