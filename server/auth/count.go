package auth

import (
	"sync"

	"github.com/google/uuid"
)

// counters count the requests of keys in the present minute, for the one server of an SQLite file.
// The database holds the counts of some seconds ago, for the server that starts next. Goroutines may
// share it; the zero value is ready.
type counters struct {
	mu      sync.Mutex
	minute  int64
	counts  map[uuid.UUID]*counter
	changed []uuid.UUID // keys whose count is not written yet, each once
}

type counter struct {
	count   int
	changed bool
}

// counted is a key's count, as it is written.
type counted struct {
	Key   uuid.UUID `json:"id"`
	Count int       `json:"count"`
}

// add counts one request and returns the key's count. The first of a key in this minute continues
// from stored, what the database has for it. A time in the minute just before the present one is
// treated as the present one: another request overtook this one. A time further back means that the
// clock was set back.
func (c *counters) add(key uuid.UUID, minute int64, stored int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil || minute > c.minute || minute < c.minute-1 {
		c.minute, c.counts, c.changed = minute, make(map[uuid.UUID]*counter, len(c.counts)), nil
	}
	k := c.counts[key]
	if k == nil {
		if minute != c.minute {
			stored = 0 // it is the past minute's
		}
		k = &counter{count: stored}
		c.counts[key] = k
	}
	k.count++
	c.note(key, k)
	return k.count
}

// note lists a key as changed. Callers hold mu.
func (c *counters) note(key uuid.UUID, k *counter) {
	if !k.changed {
		k.changed = true
		c.changed = append(c.changed, key)
	}
}

// take returns the minute and the counts that changed since the last call. The caller keeps what it
// cannot write.
func (c *counters) take() (minute int64, list []counted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list = make([]counted, len(c.changed))
	for i, key := range c.changed {
		k := c.counts[key]
		k.changed = false
		list[i] = counted{key, k.count}
	}
	c.changed = nil
	return c.minute, list
}

// keep lists counts that could not be written as changed again.
func (c *counters) keep(minute int64, list []counted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range list {
		if k := c.counts[one.Key]; k != nil && minute == c.minute {
			c.note(one.Key, k)
		}
	}
}
