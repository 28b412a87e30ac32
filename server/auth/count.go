package auth

import (
	"maps"
	"sync"

	"github.com/google/uuid"
)

// counters count the requests of each key in the current minute. They are used on SQLite, where one server counts in memory.
// Flush writes the counts to the database, from which a new server continues. Goroutines may share counters. The zero value
// is ready for use.
type counters struct {
	mu      sync.Mutex
	minute  int64
	counts  map[uuid.UUID]int64
	changed bool // whether a count changed since the last call of unwritten
}

// add counts one request of a key, and returns how many the key has made in this minute. At the key's first request in a
// minute, add begins with the argument stored, which is the key's count in the database, because the server may have started
// in this minute. If minute is one before the minute that is counted, the request counts in the later minute, because
// requests may overtake each other. If minute is even earlier, the clock was set back, and all counts begin anew.
func (c *counters) add(key uuid.UUID, minute int64, stored int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil || minute > c.minute || minute < c.minute-1 {
		c.minute, c.counts = minute, make(map[uuid.UUID]int64, len(c.counts))
	}
	count, counted := c.counts[key]
	if !counted && minute == c.minute {
		count = int64(stored)
	}
	c.counts[key], c.changed = count+1, true
	return int(count) + 1
}

// unwritten returns the counts of the current minute, or nil if no count has changed since unwritten was last called.
func (c *counters) unwritten() (minute int64, counts map[uuid.UUID]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed {
		return c.minute, nil
	}
	c.changed = false
	return c.minute, maps.Clone(c.counts)
}

// markUnwritten is called if writing the counts failed. The next call of unwritten then returns them again.
func (c *counters) markUnwritten() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = true
}

// uses has the time of each key's last use, in Unix milliseconds. Flush writes the times every few seconds, so that not
// every request writes to the database. Goroutines may share it. The zero value is ready for use.
type uses struct {
	mu   sync.Mutex
	last map[uuid.UUID]int64
}

// record notes that a key was used at a time, unless a later use is recorded already.
func (u *uses) record(key uuid.UUID, at int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[uuid.UUID]int64{}
	}
	u.last[key] = max(at, u.last[key])
}

// drain returns all recorded uses and forgets them. If writing them fails, the caller records them again with record.
func (u *uses) drain() map[uuid.UUID]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.last
	u.last = nil
	return last
}
