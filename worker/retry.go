package worker

import "time"

// DefaultRetryDelays are 22 hours and 21 minutes in all, as the specification says under Delivery; the single waits are this
// package's choice.
func DefaultRetryDelays() []time.Duration {
	return []time.Duration{
		time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	}
}

// jitter is the largest share by which a wait is lengthened, so that deliveries that failed together are not retried together.
const jitter = 0.1

// retryDelay returns false after the last attempt. random, from 0 to less than 1, lengthens the wait.
func retryDelay(delays []time.Duration, number int, random float64) (time.Duration, bool) {
	if number < 1 || number > len(delays) {
		return 0, false
	}
	delay := delays[number-1]
	return delay + time.Duration(float64(delay)*jitter*random), true
}
