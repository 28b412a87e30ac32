package auth

import (
	"maps"
	"sync"

	"github.com/google/uuid"
)

// counters count the requests of keys in the current minute, in the memory of a SQLite file's only server. The database holds
// the counts of some seconds ago, for the server that starts next. Goroutines may share it; the zero value is ready.
type counters struct {
	mu      sync.Mutex
	minute  int64
	counts  map[uuid.UUID]int64
	changed bool // since the last call of unwritten
}

// add counts one request and returns the key's count. A key's first request in this minute continues from stored, its count in
// the database. A time in the previous minute counts as the current minute, because requests may overtake each other. An
// earlier time means that the clock was set back.
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

// unwritten returns the minute's counts, or nil if none has changed since the last call.
func (c *counters) unwritten() (minute int64, counts map[uuid.UUID]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed {
		return c.minute, nil
	}
	c.changed = false
	return c.minute, maps.Clone(c.counts)
}

// keepUnwritten makes the next call of unwritten return the counts again, because writing them failed.
func (c *counters) keepUnwritten() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = true
}

// uses holds when each key was last used, in Unix milliseconds, until that is written, so that a key in constant use costs one
// write in some seconds instead of one for each request. Goroutines may share it; the zero value is ready.
type uses struct {
	mu   sync.Mutex
	last map[uuid.UUID]int64
}

// note records that a key was used at a time. The latest time counts.
func (u *uses) note(key uuid.UUID, at int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[uuid.UUID]int64{}
	}
	u.last[key] = max(at, u.last[key])
}

// drain returns all uses and clears them. The caller must call note again for the uses that it cannot write.
func (u *uses) drain() map[uuid.UUID]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.last
	u.last = nil
	return last
}
