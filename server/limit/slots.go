package limit

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/server/apierr"
)

const (
	// maxWait is how long a request waits for a slot: less than the service's deadline, so that it is answered.
	maxWait = 3 * time.Second
	// maxWaiting is how many requests wait, half of them of one owner. Each takes some 10 kB.
	maxWaiting = 1024
	// searchShare is the part of its share, one in so many, that an owner's searches may have. A search reads all rows
	// of its store, so that a few keep every processor of the database busy.
	searchShare = 4
)

// ErrBusy is the error of Take for a request that gets no slot in time.
var ErrBusy error = apierr.New(apierr.Unavailable, "The service has more requests than it can answer in time; try again later.")

// The owners of slots that are no stores.
var (
	Unauthenticated = uuid.Nil
	Operator        = uuid.Max
)

// Slots bounds how many requests work on the database at a time. Each belongs to an owner, such as a store; none has
// more than its share, so that others always get some. Requests that find no slot wait in the order in which they came.
type Slots struct {
	slots, share int
	mu           sync.Mutex
	owners       map[uuid.UUID]*owner
	queue        list.List // of *waiter
	load         Load
}

// owner counts its requests, and is kept while it has any.
type owner struct {
	id                          uuid.UUID
	running, searching, waiting int
}

type waiter struct {
	*owner
	search bool
	ready  chan struct{} // closed once it has its slot
}

// NewSlots returns so many slots, of which one owner has at most a share; both are at least one.
func NewSlots(slots, share int) *Slots {
	return &Slots{slots: max(slots, 1), share: max(share, 1), owners: map[uuid.UUID]*owner{}}
}

// Take waits for a slot, and returns the function that gives it back, to be called once. The error is ErrBusy, or the
// context's cause if that ends first.
func (s *Slots) Take(ctx context.Context, id uuid.UUID, search bool) (giveBack func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[id]
	if o == nil {
		o = &owner{id: id}
		s.owners[id] = o
	}
	w := &waiter{o, search, make(chan struct{})}
	place := s.queue.PushBack(w)
	o.waiting++
	s.serve()
	err = ErrBusy
	if !w.served() && s.queue.Len() <= maxWaiting && o.waiting <= maxWaiting/2 {
		s.mu.Unlock()
		patience, cancel := context.WithTimeoutCause(ctx, maxWait, ErrBusy)
		select {
		case <-w.ready:
		case <-patience.Done():
			err = context.Cause(patience)
		}
		cancel()
		s.mu.Lock()
	}
	if w.served() { // perhaps just when its time was over
		return func() { s.giveBack(w) }, nil
	}
	s.queue.Remove(place)
	o.waiting--
	s.forget(o)
	if errors.Is(err, ErrBusy) {
		s.load.Refused++
	}
	return nil, err
}

func (w *waiter) served() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// serve gives the free slots to those that have waited longest and may have one.
func (s *Slots) serve() {
	for at := s.queue.Front(); at != nil && s.load.Running < s.slots; {
		place, w := at, at.Value.(*waiter)
		at = at.Next()
		if w.running >= s.share || w.search && w.searching >= max(s.share/searchShare, 1) {
			continue
		}
		s.queue.Remove(place)
		w.waiting--
		s.count(w, 1)
		close(w.ready)
	}
}

func (s *Slots) giveBack(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(w, -1)
	s.serve()
	s.forget(w.owner)
}

func (s *Slots) count(w *waiter, n int) {
	s.load.Running += n
	w.running += n
	if w.search {
		w.searching += n
	}
}

func (s *Slots) forget(o *owner) {
	if o.running+o.waiting == 0 {
		delete(s.owners, o.id)
	}
}

// Load is how many requests have a slot and how many wait for one now, and how many got none since the start.
type Load struct {
	Running, Waiting int
	Refused          uint64
}

// Load returns the present state.
func (s *Slots) Load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	load := s.load
	load.Waiting = s.queue.Len()
	return load
}
