package auth

import (
	"maps"
	"sync"

	"github.com/google/uuid"
)

// counters count in memory the requests of each key in the current minute, on SQLite, which has one server. A new server
// continues from the counts that Flush writes. Goroutines may share it. The zero value is ready for use.
type counters struct {
	mu      sync.Mutex
	minute  int64
	counts  map[uuid.UUID]int64
	changed bool // whether a count changed since the last call of unwritten
}

// add returns how many requests the key has made in this minute. It begins with stored, the count in the database, because the
// server may have started in this minute. A request of the minute before counts in this one, because requests may overtake each
// other; in an even earlier minute, the clock was set back, and all counts begin anew.
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

// unwritten returns the current minute's counts, or nil if none has changed since its last call.
func (c *counters) unwritten() (minute int64, counts map[uuid.UUID]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed {
		return c.minute, nil
	}
	c.changed = false
	return c.minute, maps.Clone(c.counts)
}

// markUnwritten makes unwritten return the counts again, after a failure to write them.
func (c *counters) markUnwritten() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = true
}

// uses has the time of each key's last use, in Unix milliseconds, until Flush writes it. Goroutines may share it. The zero
// value is ready for use.
type uses struct {
	mu   sync.Mutex
	last map[uuid.UUID]int64
}

// record keeps the latest use of a key.
func (u *uses) record(key uuid.UUID, at int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[uuid.UUID]int64{}
	}
	u.last[key] = max(at, u.last[key])
}

// drain forgets all uses. If writing them fails, the caller records them again.
func (u *uses) drain() map[uuid.UUID]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.last
	u.last = nil
	return last
}
