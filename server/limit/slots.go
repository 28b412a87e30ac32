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
	// maxWait is how long a request waits for a slot. It is shorter than the service's deadline, so that the request gets an
	// answer.
	maxWait = 3 * time.Second
	// maxWaiting is how many requests may wait, at most half of them of one owner. Each takes some 10 kB.
	maxWaiting = 1024
	// An owner may run its share divided by searchShare of searches at a time. A search reads all rows of its store, and a few
	// searches keep every processor of the database busy.
	searchShare = 4
)

// ErrBusy is the error of Acquire for a request that gets no slot in time.
var ErrBusy error = apierr.New(apierr.Unavailable, "The service has more requests than it can answer in time; try again later.")

// Owners of slots besides stores.
var (
	Unauthenticated = uuid.Nil
	Operator        = uuid.Max
)

// Slots bounds how many requests work on the database at a time. Each belongs to an owner, such as a store; none has
// more than its share, so that others always get some. Requests that find no slot wait in the order in which they came.
type Slots struct {
	slots, share int64
	pool         func(store uuid.UUID) any // nil unless there are several pools

	mu     sync.Mutex
	owners map[uuid.UUID]*owner
	pools  map[any]*semaphore.Weighted // nil is the key of the pool for owners other than stores

	running, waiting atomic.Int64
	refused          atomic.Uint64
}

// owner has the slots of its share, and is kept while it has requests.
type owner struct {
	slots, searches *semaphore.Weighted
	all             *semaphore.Weighted // all slots of the owner's pool
	requests        int                 // running and waiting; guarded by mu
	waiting         atomic.Int64
}

// Load counts the requests that have a slot, the requests that wait for one, and those that got none since the start.
type Load struct {
	Running, Waiting int
	Refused          uint64
}

// NewSlots returns this many slots; one owner gets at most share of them. Both are at least one.
func NewSlots(slots, share int) *Slots {
	return &Slots{
		slots: int64(max(slots, 1)), share: int64(max(share, 1)), owners: map[uuid.UUID]*owner{}, pools: map[any]*semaphore.Weighted{},
	}
}

// PerPool gives each pool of connections its own slots, as many as s has. of returns the only pool that a store's requests use,
// and nil for owners that are no stores. So a machine that does not answer takes no slots from stores on other machines.
func (s *Slots) PerPool(of func(store uuid.UUID) any) *Slots {
	s.pool = of
	return s
}

// Acquire waits for a slot, and returns the function that gives it back, to be called once. The error is ErrBusy, or the
// context's cause if that ends first.
func (s *Slots) Acquire(ctx context.Context, id uuid.UUID, search bool) (giveBack func(), err error) {
	o := s.enter(id)
	needed := []*semaphore.Weighted{o.slots, o.all}
	if search {
		needed = []*semaphore.Weighted{o.searches, o.slots, o.all}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, ErrBusy)
	defer cancel()
	for i, each := range needed {
		if !each.TryAcquire(1) {
			err = s.wait(ctx, o, each)
		}
		if err != nil {
			release(needed[:i])
			s.leave(id, o)
			return nil, err
		}
	}
	s.running.Add(1)
	return func() {
		s.running.Add(-1)
		release(needed)
		s.leave(id, o)
	}, nil
}

// wait waits for one of the semaphores that a request needs, unless too many requests wait.
func (s *Slots) wait(ctx context.Context, o *owner, needed *semaphore.Weighted) error {
	defer s.waiting.Add(-1)
	defer o.waiting.Add(-1)
	err := error(nil)
	if all, its := s.waiting.Add(1), o.waiting.Add(1); all > maxWaiting || its > maxWaiting/2 {
		err = ErrBusy
	} else if needed.Acquire(ctx, 1) != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, ErrBusy) {
		s.refused.Add(1)
	}
	return err
}

// enter returns the owner of a request.
func (s *Slots) enter(id uuid.UUID) *owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[id]
	if o == nil {
		o = &owner{
			slots: semaphore.NewWeighted(s.share), searches: semaphore.NewWeighted(max(s.share/searchShare, 1)), all: s.poolOf(id),
		}
		s.owners[id] = o
	}
	o.requests++
	return o
}

// poolOf returns all slots of an owner's pool. The caller holds mu.
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

// leave removes a request from its owner, and the owner after its last request.
func (s *Slots) leave(id uuid.UUID, o *owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.requests--; o.requests == 0 {
		delete(s.owners, id)
	}
}

func release(held []*semaphore.Weighted) {
	for _, each := range held {
		each.Release(1)
	}
}

// Load returns the present state.
func (s *Slots) Load() Load {
	return Load{Running: int(s.running.Load()), Waiting: int(s.waiting.Load()), Refused: s.refused.Load()}
}
