package auth

import (
	"net/netip"
	"sync"

	"go.storefront.example/server/ratelimit"
)

// maxAddresses bounds how many addresses are held in memory, some 100 bytes each. Beyond it an
// address is not held: its malformed keys are looked up, and counted, in the database.
const maxAddresses = 1 << 16

// addresses holds, for the present minute, the addresses that presented unknown keys: the malformed
// ones, which the database is told of later, and what the database was seen to hold, so that an
// address beyond its limit is not asked about again. Goroutines may share it; the zero value is
// ready.
type addresses struct {
	mu      sync.Mutex
	minute  int64
	tallies map[netip.Addr]*tally
	unsent  bool // whether some tally has pending counts
}

// tally is what is known of one address's unknown keys in the minute. The three counts are apart
// from each other: their sum is the number to compare with the limit.
type tally struct {
	stored  int // what the database was last seen to hold
	sending int // malformed keys on their way there
	pending int // malformed keys that it has not been told of
}

func (t *tally) sum() int { return t.stored + t.sending + t.pending }

// delta is the malformed keys of one address in one minute that the database is to be told of.
type delta struct {
	Address string `json:"id"`
	Minute  int64  `json:"minute"`
	Count   int    `json:"count"`
	address netip.Addr
}

// blocked tells whether an address is known to be beyond the limit in this minute.
func (a *addresses) blocked(address netip.Addr, minute int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.turn(minute)[address]
	return t != nil && ratelimit.TooManyUnknown(t.sum())
}

// count counts a malformed key and returns how many unknown keys the address presented in this
// minute, as far as is known here, this one included. It is false when there is no room for the
// address; nothing is counted then.
func (a *addresses) count(address netip.Addr, minute int64) (int, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.turn(minute)[address]
	if t == nil {
		if t = a.add(address); t == nil {
			return 0, false
		}
	}
	t.pending++
	a.unsent = true
	return t.sum(), true
}

// holds tells whether anything is known of an address in this minute.
func (a *addresses) holds(address netip.Addr, minute int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn(minute)[address] != nil
}

// pending is how many malformed keys of an address the database has not been told of.
func (a *addresses) pending(address netip.Addr, minute int64) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.turn(minute)[address]; t != nil {
		return t.sending + t.pending
	}
	return 0
}

// learn takes over what the database holds of an address.
func (a *addresses) learn(address netip.Addr, minute int64, stored int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.turn(minute)[address]
	if minute != a.minute {
		return // an answer of the past minute, overtaken by the turn
	}
	if t == nil {
		t = a.add(address)
	}
	if t != nil {
		// Answers may overtake each other; within a minute the database only counts upwards.
		t.stored = max(t.stored, stored)
	}
}

// take returns all pending counts and marks them as being sent; settle ends that.
func (a *addresses) take(minute int64) []delta {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn(minute)
	if !a.unsent {
		return nil
	}
	a.unsent = false
	var deltas []delta
	for address, t := range a.tallies {
		if t.pending > 0 {
			deltas = append(deltas, delta{address.String(), a.minute, t.pending, address})
			t.sending, t.pending = t.pending, 0
		}
	}
	return deltas
}

// settle ends the sending of deltas. stored is what the database holds now, by address; an address
// that it lacks was not sent, and its counts are pending again.
func (a *addresses) settle(deltas []delta, stored map[string]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range deltas {
		t := a.tallies[d.address]
		if t == nil || d.Minute != a.minute {
			continue // the minute has turned meanwhile
		}
		if n, sent := stored[d.Address]; sent {
			t.stored = max(t.stored, n)
		} else {
			t.pending += t.sending
			a.unsent = true
		}
		t.sending = 0
	}
}

// turn forgets all of a past minute and returns the tallies. A time just before the held minute is
// taken for that minute: the answers of two servers' clocks, or one overtaking another, must not
// throw a minute's counts away. One further back is a clock that was set back. Callers hold mu.
func (a *addresses) turn(minute int64) map[netip.Addr]*tally {
	if minute > a.minute || minute < a.minute-1 {
		a.minute, a.tallies, a.unsent = minute, nil, false
	}
	return a.tallies
}

// add makes room for an address, and returns nil when there is none. Callers hold mu.
func (a *addresses) add(address netip.Addr) *tally {
	if len(a.tallies) >= maxAddresses {
		return nil
	}
	if a.tallies == nil {
		a.tallies = make(map[netip.Addr]*tally)
	}
	t := &tally{}
	a.tallies[address] = t
	return t
}
