package auth

import (
	"sync"

	"go.storefront.example/server/ratelimit"
)

// maxClients bounds how many clients are held in memory, some 100 bytes each. One that is not held
// is counted and refused by the database, each time.
const maxClients = 1 << 16

// blocked holds the clients that are beyond the limit on unknown keys in the present minute, so that
// the database is not asked about them again. It counts nothing: that is the database's. Goroutines may
// share it; the zero value is ready.
type blocked struct {
	mu      sync.Mutex
	minute  int64
	clients map[ratelimit.Client]struct{}
}

// has reports whether a client is known to be beyond the limit in this minute.
func (b *blocked) has(client ratelimit.Client, minute int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(minute)
	_, found := b.clients[client]
	return found
}

// add takes a client that is beyond the limit in this minute, as long as there is room.
func (b *blocked) add(client ratelimit.Client, minute int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(minute)
	if minute != b.minute || len(b.clients) >= maxClients {
		return // an answer of the past minute, overtaken by the turn, or no room
	}
	if b.clients == nil {
		b.clients = make(map[ratelimit.Client]struct{})
	}
	b.clients[client] = struct{}{}
}

// turn forgets all of a past minute. A time just before the held minute is taken for that minute:
// the answers of two servers' clocks, or one overtaking another, must not let a minute's clients
// go. One further back is a clock that was set back. Callers hold mu.
func (b *blocked) turn(minute int64) {
	if minute > b.minute || minute < b.minute-1 {
		b.minute, b.clients = minute, nil
	}
}
