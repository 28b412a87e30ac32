package hook

import (
	"sync/atomic"
	"time"
)

const (
	// mostAhead is how far ahead of this process's clock a held row's moments may be and still count.
	// Clocks of several hosts differ by seconds. A moment further ahead comes from a clock that has
	// been corrected since, or from loaded data. If followed, it would spread from an order to its
	// payment link and on to every order of that link.
	mostAhead = time.Hour
	// mostDrawn is how far ahead of the clock the process's own last time may be and still count.
	mostDrawn = time.Second
)

// Clock gives the transactions of one process their times. It is a hybrid logical clock (Kulkarni
// et al., "Logical Physical Clocks", 2014) with bounds: it follows the time of day, but stays
// behind no moment that it has seen. Goroutines may share it.
type Clock struct {
	// Now is the time of day: UTC, in milliseconds.
	Now func() time.Time
	// Alone is true for a test's clock, which may stand still: each object's moments then depend only
	// on the object.
	Alone bool
	// last is the newest time given, in milliseconds since 1970.
	last atomic.Int64
}

// after returns the time of a transaction: now, but later than every moment seen, and not before
// the last time given in this process, if that is at most a second ahead. The last rule also orders
// changes of different objects, as far as one process can.
func (c *Clock) after(seen []time.Time) time.Time {
	now := c.Now()
	at := now
	for _, moment := range seen {
		next := moment.UTC().Truncate(time.Millisecond).Add(time.Millisecond)
		if next.After(at) && next.Sub(now) <= mostAhead {
			at = next
		}
	}
	for !c.Alone {
		last := c.last.Load()
		if given := time.UnixMilli(last).UTC(); given.After(at) && given.Sub(now) <= mostDrawn {
			at = given
		}
		if at.UnixMilli() == last || c.last.CompareAndSwap(last, at.UnixMilli()) {
			break
		}
	}
	return at
}
