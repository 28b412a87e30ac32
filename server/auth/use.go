package auth

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// uses holds when each key was last used, until that is written: a key in constant use then costs one
// write in half a minute instead of one per request. Goroutines may share it; the zero value is
// ready.
type uses struct {
	mu   sync.Mutex
	last map[uuid.UUID]int64 // Unix milliseconds, the precision of all stored times
}

// use is the last use of one key.
type use struct {
	Key uuid.UUID `json:"id"`
	At  int64     `json:"at"` // Unix milliseconds
}

// note records that a key was used at a time.
func (u *uses) note(key uuid.UUID, at time.Time) {
	u.put(use{key, at.UnixMilli()})
}

// put records uses; the latest of each key counts.
func (u *uses) put(list ...use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = make(map[uuid.UUID]int64)
	}
	for _, one := range list {
		if at, held := u.last[one.Key]; !held || at < one.At {
			u.last[one.Key] = one.At
		}
	}
}

// take returns all uses and clears them. The caller puts back what it cannot write.
func (u *uses) take() []use {
	u.mu.Lock()
	last := u.last
	u.last = nil
	u.mu.Unlock()
	list := make([]use, 0, len(last))
	for key, at := range last {
		list = append(list, use{key, at})
	}
	return list
}
