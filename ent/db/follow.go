package db

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// followers are those in this process who wait for the events of a store.
type followers struct {
	mu sync.RWMutex
	of map[uuid.UUID]map[chan struct{}]bool
}

// FollowEvents returns a channel that gets a value after this process commits an event of the store,
// whether or not a webhook subscribes to it. One value may stand for several events. What other
// processes commit gives none, so poll as well. It ends with the context.
func (s *DB) FollowEvents(ctx context.Context, store uuid.UUID) <-chan struct{} {
	f, signal := &s.followers, make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[store] == nil {
		if f.of == nil {
			f.of = map[uuid.UUID]map[chan struct{}]bool{}
		}
		f.of[store] = map[chan struct{}]bool{}
	}
	f.of[store][signal] = true
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.of[store], signal)
		if len(f.of[store]) == 0 {
			delete(f.of, store)
		}
	})
	return signal
}

// announce wakes those who follow the store; a store without any costs a look-up.
func (f *followers) announce(store uuid.UUID) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for signal := range f.of[store] {
		raise(signal)
	}
}
