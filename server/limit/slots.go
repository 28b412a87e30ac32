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
	// maxWait limits the wait for a slot. It is shorter than the timeout of requests, so that the request can still be
	// answered.
	maxWait = 3 * time.Second
	// maxWaiting requests may wait at a time, half of them of one owner. Each takes some 10 kB of memory.
	maxWaiting = 1024
	// searchShare is four: an owner's searches may use a quarter of its slots, because a search reads all rows of a store, and
	// a few occupy all processors of the database.
	searchShare = 4
)

// ErrBusy is for a request that gets no slot in time.
var ErrBusy error = apierr.New(apierr.Unavailable, "The service has more requests than it can answer in time; try again later.")

// The owners of slots that are no stores: all requests without a session, and all calls of the operator.
var (
	Unauthenticated = uuid.Nil
	Operator        = uuid.Max
)

// Slots bounds how many requests use the database at a time. No owner, such as a store, has more slots than its share, so that
// others get some. A request that finds no free slot waits, in the order of arrival.
type Slots struct {
	slots, share int64
	pool         func(store uuid.UUID) any // returns a store's pool of database connections; nil if all share one

	mu     sync.Mutex
	owners map[uuid.UUID]*owner
	pools  map[any]*semaphore.Weighted // the slots of each pool; the key nil is for Unauthenticated, Operator and, if pool is nil, all stores

	running, waiting atomic.Int64
	refused          atomic.Uint64
}

// owner is deleted when it has no running or waiting request.
type owner struct {
	slots, searches *semaphore.Weighted
	pool            *semaphore.Weighted // the slots of the owner's pool, which others may use too
	requests        int                 // number of running and waiting requests; protected by mu
	waiting         atomic.Int64
}

// Load has the requests that run with a slot, that wait for one, and that were refused since the start.
type Load struct {
	Running, Waiting int
	Refused          uint64
}

// NewSlots gives one owner at most share slots. Numbers below one count as one.
func NewSlots(slots, share int) *Slots {
	return &Slots{
		slots: int64(max(slots, 1)), share: int64(max(share, 1)), owners: map[uuid.UUID]*owner{}, pools: map[any]*semaphore.Weighted{},
	}
}

// PerPool gives each pool of database connections as many slots as s has, so that requests that wait for one database machine
// take none from stores on others. It returns s.
func (s *Slots) PerPool(pool func(store uuid.UUID) any) *Slots {
	s.pool = pool
	return s
}

// Acquire waits for a slot of the owner id. An owner may run fewer searches than other requests. Call release once. It fails
// with ErrBusy if it gets no slot in time, or with the context's cause.
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

// wait waits for one of the semaphores that a request needs. It fails with ErrBusy at the deadline, and if too many requests
// wait.
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

// enter counts one more request of the owner.
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

// poolOf's caller has locked mu.
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

// leave deletes an owner without requests.
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

// Load returns the present numbers.
func (s *Slots) Load() Load {
	return Load{Running: int(s.running.Load()), Waiting: int(s.waiting.Load()), Refused: s.refused.Load()}
}
