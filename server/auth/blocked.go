package auth

import (
	"sync"

	"go.storefront.example/server/limit"
)

// maxClients bounds how many clients are held in memory, some 100 bytes each. Beyond it, the
// database counts and refuses each request of a client.
const maxClients = 1 << 16

// blocked holds the clients beyond the limit on unknown keys in the present minute, so that they
// cause no further queries. It counts nothing: the database does. Goroutines may share it; the zero
// value is ready.
type blocked struct {
	mu      sync.Mutex
	minute  int64
	clients map[limit.Client]struct{}
}

// has reports whether a client is held as beyond the limit in this minute.
func (b *blocked) has(client limit.Client, minute int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(minute)
	_, found := b.clients[client]
	return found
}

// add stores a client that is beyond the limit in this minute, if there is room.
func (b *blocked) add(client limit.Client, minute int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(minute)
	if minute != b.minute || len(b.clients) >= maxClients {
		return // a late answer of the past minute, or no room
	}
	if b.clients == nil {
		b.clients = make(map[limit.Client]struct{})
	}
	b.clients[client] = struct{}{}
}

// turn drops the clients of a past minute. A time in the minute just before the held one is treated
// as the held one: two servers' clocks may differ, or one answer may overtake another, and that
// must not release the minute's clients. A time further back means that the clock was set back.
// Callers hold mu.
func (b *blocked) turn(minute int64) {
	if minute > b.minute || minute < b.minute-1 {
		b.minute, b.clients = minute, nil
	}
}
