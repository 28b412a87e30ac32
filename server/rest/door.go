package rest

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/overload"
)

// Capacity bounds how many requests are served at a time; more wait for a moment, or are refused
// with unavailable. The zero value of a field is its default.
type Capacity struct {
	// Slots is how many requests are served at a time, and StoreSlots how many of one store. The
	// defaults are 32 and half of Slots.
	Slots, StoreSlots int
}

const (
	// waitingPlaces is how many requests may wait for a slot. A waiting one costs some 10 kB.
	waitingPlaces = 1024
	// knownKeys is how many keys the door keeps with their stores, some 100 bytes each.
	knownKeys = 1 << 16
	// largeBytes is the size of a message from which an answer counts as large: a page may have 20 MB. largeAnswers is
	// how many of them are sent at a time, and storeAnswers how many of one store.
	largeBytes   = 1 << 20
	largeAnswers = 16
	storeAnswers = largeAnswers / 4
	// searchShare is the part of its slots, one in so many, that a store's searches may have. A search reads as
	// many rows as its store has, so that a few keep all processors of the database busy.
	searchShare = 4
	// shedInterval is the least time between two log lines of requests that were refused early.
	shedInterval = time.Second
)

// door makes requests wait for a slot before any work is done for them, including the look-up of
// their key. It assigns keys to stores by earlier admissions; all other keys share the half that
// one party may have. This affects only fairness, never access.
type door struct {
	limiter *overload.Limiter
	// answers bounds the large answers that wait in memory for their readers, without a slot.
	answers *overload.Limiter
	// searches bounds the requests with a text to search for, which have a slot too.
	searches *overload.Limiter
	stores   *lru.Cache[uint64, uuid.UUID]
	seed     maphash.Seed

	log     *slog.Logger
	shed    atomic.Int64
	shedLog atomic.Int64 // when the last line was written, in nanoseconds since 1970
}

func newDoor(c Capacity, log *slog.Logger) *door {
	c.Slots = cmp.Or(c.Slots, 32)
	c.StoreSlots = cmp.Or(c.StoreSlots, c.Slots/2)
	stores, _ := lru.New[uint64, uuid.UUID](knownKeys) // fails only for a size below 1
	return &door{
		limiter:  overload.New(c.Slots, c.StoreSlots, waitingPlaces),
		answers:  overload.New(largeAnswers, storeAnswers, waitingPlaces),
		searches: overload.New(c.StoreSlots, c.StoreSlots/searchShare, waitingPlaces),
		stores:   stores, seed: maphash.MakeSeed(), log: log,
	}
}

// enter waits for the request's slot, or refuses with unavailable. A request without a key takes no
// slot: it is refused without any work.
func (d *door) enter(ctx context.Context, x *exchange, authorization []string) error {
	if len(authorization) != 1 {
		return nil
	}
	x.party, _ = d.stores.Get(maphash.String(d.seed, authorization[0]))
	return d.pass(ctx, x, d.limiter.Enter)
}

// turnAway returns the refusal of a request that is not read yet, nil if it may come in.
func (d *door) turnAway(authorization []byte) *apierr.Refusal {
	party, _ := d.stores.Get(maphash.Bytes(d.seed, authorization))
	if !d.limiter.TurnAway(party) {
		return nil
	}
	d.noteShed(context.Background())
	return tooMany()
}

// outside calls wait without a slot: it reads the request's body, so that a slow sender occupies none, or
// waits for something else. The request then waits for a slot like any other.
func (d *door) outside(ctx context.Context, x *exchange, wait func() error) error {
	held := !x.admitted.IsZero()
	x.leave()
	if err := wait(); err != nil || !held {
		return err
	}
	return d.pass(ctx, x, d.limiter.Reenter)
}

// pass takes a slot for the request.
func (d *door) pass(ctx context.Context, x *exchange, enter func(context.Context, overload.Party) error) error {
	err := enter(ctx, x.party)
	if err == nil {
		x.admitted = time.Now()
	}
	return d.refused(ctx, x, err)
}

// search waits until a request that searches may do so.
func (d *door) search(ctx context.Context, x *exchange) error {
	return d.outside(ctx, x, func() error {
		err := d.searches.Reenter(ctx, x.party)
		if err == nil {
			x.searching = time.Now()
		}
		return d.refused(ctx, x, err)
	})
}

// hold waits until an answer of so many bytes may be sent. Its request still has its slot, so that few of them wait.
func (d *door) hold(ctx context.Context, x *exchange, bytes int) error {
	if bytes < largeBytes {
		return nil
	}
	err := d.answers.Enter(ctx, x.party)
	if err == nil {
		x.sending = time.Now()
	}
	return d.refused(ctx, x, err)
}

// refused returns the refusal of a request that a limiter refused, and any other error as it is.
func (d *door) refused(ctx context.Context, x *exchange, err error) error {
	if !errors.Is(err, overload.ErrRefused) {
		return err
	}
	x.shed = true
	d.noteShed(ctx)
	return tooMany()
}

func tooMany() *apierr.Refusal {
	return apierr.New(apierr.Unavailable, "The service has more requests than it can answer in time; try again later.")
}

// learn records the store of an admitted key. If the key was new to the door, the request gives its
// slot back to the unknown keys and takes one of its store's, because the work is for the store.
func (d *door) learn(ctx context.Context, x *exchange, authorization []string, store uuid.UUID) error {
	if len(authorization) != 1 || x.party == store {
		return nil
	}
	d.stores.Add(maphash.String(d.seed, authorization[0]), store)
	x.leave()
	x.party = store
	return d.pass(ctx, x, d.limiter.Reenter)
}

// noteShed logs that requests were refused early, at most once a second.
func (d *door) noteShed(ctx context.Context) {
	d.shed.Add(1)
	last, now := d.shedLog.Load(), time.Now().UnixNano()
	if now-last < int64(shedInterval) || !d.shedLog.CompareAndSwap(last, now) {
		return
	}
	load := d.limiter.Load()
	d.log.WarnContext(ctx, "overload: requests refused early",
		"refused", d.shed.Swap(0), "running", load.Running, "waiting", load.Waiting)
}

// Load returns how many requests are served, wait for a slot or to search, and were refused for lack of one.
func (e *Edge) Load() overload.Load {
	load, searches := e.door.limiter.Load(), e.door.searches.Load()
	load.Waiting += searches.Waiting
	load.Refused += searches.Refused + e.door.answers.Load().Refused
	return load
}

// leave gives the request's slot back, and its place among the searches, once.
func (x *exchange) leave() {
	if !x.searching.IsZero() {
		x.edge.door.searches.Leave(x.party, time.Since(x.searching))
		x.searching = time.Time{}
	}
	if !x.admitted.IsZero() {
		x.edge.door.limiter.Leave(x.party, time.Since(x.admitted))
		x.admitted = time.Time{}
	}
}

// release makes room for the next large answer, once, if the request's was one.
func (x *exchange) release() {
	if !x.sending.IsZero() {
		x.edge.door.answers.Leave(x.party, time.Since(x.sending))
		x.sending = time.Time{}
	}
}
