package limit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"go.storefront.example/server/apierr"
)

const (
	// maxWait is how long a request waits for a slot at most. It is shorter than the timeout of requests, so that the
	// request can still be answered.
	maxWait = 3 * time.Second
	// maxWaiting is how many requests may wait at a time; half of them may be of one owner. Each takes some 10 kB of memory.
	maxWaiting = 1024
	// An owner's searches may use a quarter (1/searchShare) of the owner's slots, because a search reads all rows of a store,
	// and a few searches occupy all processors of the database.
	searchShare = 4
)

// ErrBusy is the error of Acquire for a request that gets no slot in time.
var ErrBusy error = apierr.New(apierr.Unavailable, "The service has more requests than it can answer in time; try again later.")

// These are the ids of the owners of slots that are no stores: all requests without a session, and all calls of the operator.
var (
	Unauthenticated = uuid.Nil
	Operator        = uuid.Max
)

// Slots bounds how many requests use the database at a time. Each request belongs to an owner, such as a store. No owner has
// more slots than its share, so that other owners get some. A request that finds no free slot waits, in the order of
// arrival.
type Slots struct {
	slots, share int64
	pool         func(store uuid.UUID) any // returns the pool of database connections of a store; nil if all stores share one pool

	mu     sync.Mutex
	owners map[uuid.UUID]*owner
	pools  map[any]*semaphore.Weighted // the slots of each pool of connections; the key nil is for Unauthenticated, Operator and, if pool is nil, all stores

	running, waiting atomic.Int64
	refused          atomic.Uint64
}

// owner has the slots of a store, of Unauthenticated or of Operator. Slots deletes an owner when it has no running or
// waiting request.
type owner struct {
	slots, searches *semaphore.Weighted
	pool            *semaphore.Weighted // the slots of the owner's pool of database connections; other owners may use this pool
	requests        int                 // number of running and waiting requests; protected by mu
	waiting         atomic.Int64
}

// Load has the numbers of requests that run with a slot, that wait for a slot, and that were refused since the start.
type Load struct {
	Running, Waiting int
	Refused          uint64
}

// NewSlots returns Slots with this number of slots. One owner gets at most share slots. Numbers below one count as one.
func NewSlots(slots, share int) *Slots {
	return &Slots{
		slots: int64(max(slots, 1)), share: int64(max(share, 1)), owners: map[uuid.UUID]*owner{}, pools: map[any]*semaphore.Weighted{},
	}
}

// PerPool gives each pool of database connections as many slots as s has, and returns s. pool returns the pool that a store's
// requests use. So requests that wait for one database machine take no slots from stores on other machines.
func (s *Slots) PerPool(pool func(store uuid.UUID) any) *Slots {
	s.pool = pool
	return s
}

// Acquire waits for a slot of the owner with this id. search is true for a search, because an owner may run fewer searches
// than other requests. Acquire returns a function that gives the slot back, to be called once. It fails with ErrBusy if it
// gets no slot in time, or with the context's cause if the context ends first.
func (s *Slots) Acquire(ctx context.Context, id uuid.UUID, search bool) (release func(), err error) {
	o := s.enter(id)
	needed := []*semaphore.Weighted{o.slots, o.pool}
	if search {
		needed = []*semaphore.Weighted{o.searches, o.slots, o.pool}
	}
	deadline := time.Now().Add(maxWait)
	for i, sem := range needed {
		if !sem.TryAcquire(1) {
			err = s.wait(ctx, deadline, o, sem)
		}
		if err != nil {
			releaseAll(needed[:i])
			s.leave(id, o)
			return nil, err
		}
	}
	s.running.Add(1)
	return func() {
		s.running.Add(-1)
		releaseAll(needed)
		s.leave(id, o)
	}, nil
}

// wait waits until the deadline for one of the semaphores that a request needs. It fails with ErrBusy after that, and if too
// many requests wait.
func (s *Slots) wait(ctx context.Context, deadline time.Time, o *owner, needed *semaphore.Weighted) error {
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, ErrBusy)
	defer cancel()
	defer s.waiting.Add(-1)
	defer o.waiting.Add(-1)
	err := error(nil)
	if total, owned := s.waiting.Add(1), o.waiting.Add(1); total > maxWaiting || owned > maxWaiting/2 {
		err = ErrBusy
	} else if needed.Acquire(ctx, 1) != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, ErrBusy) {
		s.refused.Add(1)
	}
	return err
}

// enter counts one more request of the owner with this id, and returns the owner.
func (s *Slots) enter(id uuid.UUID) *owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[id]
	if o == nil {
		o = &owner{
			slots: semaphore.NewWeighted(s.share), searches: semaphore.NewWeighted(max(s.share/searchShare, 1)), pool: s.poolOf(id),
		}
		s.owners[id] = o
	}
	o.requests++
	return o
}

// poolOf returns the slots of an owner's pool. The caller has locked mu.
func (s *Slots) poolOf(id uuid.UUID) *semaphore.Weighted {
	var key any
	if s.pool != nil && id != Unauthenticated && id != Operator {
		key = s.pool(id)
	}
	if s.pools[key] == nil {
		s.pools[key] = semaphore.NewWeighted(s.slots)
	}
	return s.pools[key]
}

// leave counts one request of the owner less, and deletes an owner without requests.
func (s *Slots) leave(id uuid.UUID, o *owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.requests--; o.requests == 0 {
		delete(s.owners, id)
	}
}

func releaseAll(held []*semaphore.Weighted) {
	for _, sem := range held {
		sem.Release(1)
	}
}

// Load returns the numbers of requests at present.
func (s *Slots) Load() Load {
	return Load{Running: int(s.running.Load()), Waiting: int(s.waiting.Load()), Refused: s.refused.Load()}
}
