package dashboard

import (
	"errors"
	"hash/maphash"
	"net/http"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"go.storefront.example/server/overload"
)

const (
	// leastSlots is how many requests are served at a time at least.
	leastSlots = 2
	// waitingPlaces is how many requests may wait for a slot.
	waitingPlaces = 256
	// knownSessions is how many sessions the door keeps with their stores, some 100 bytes each.
	knownSessions = 1 << 12
)

// door makes requests wait for a slot before the database is asked anything, so that the dashboard leaves connections to
// the API, and one store's members leave slots to another's. It knows the stores of sessions that it has seen;
// whoever else comes shares the half that one store may have. This affects only fairness, never access.
type door struct {
	limiter *overload.Limiter
	stores  *lru.Cache[uint64, uuid.UUID]
	seed    maphash.Seed
}

func newDoor(slots int) *door {
	slots = max(slots, leastSlots)
	stores, _ := lru.New[uint64, uuid.UUID](knownSessions) // fails only for a size below 1
	return &door{limiter: overload.New(slots, slots/2, waitingPlaces), stores: stores, seed: maphash.MakeSeed()}
}

// place is a request's slot.
type place struct {
	door  *door
	party overload.Party
	since time.Time // zero without a slot
	// malformed is why the form cannot be parsed.
	malformed error
}

// leave gives the slot back, once.
func (p *place) leave() {
	if !p.since.IsZero() {
		p.door.limiter.Leave(p.party, time.Since(p.since))
		p.since = time.Time{}
	}
}

// learn records the store of a session. The first time the request gives its slot back to those who are unknown and
// takes one of its store's.
func (p *place) learn(r *http.Request, session string, store uuid.UUID) error {
	if p.party == store {
		return nil
	}
	p.door.stores.Add(maphash.String(p.door.seed, session), store)
	p.leave()
	p.party = store
	return p.take(p.door.limiter.Reenter(r.Context(), store))
}

func (p *place) take(err error) error {
	if err == nil {
		p.since = time.Now()
	}
	return err
}

// bounded gives the request of a page a slot. Its form is read before that, so that a slow sender occupies none.
func (d *dashboard) bounded(next func(http.ResponseWriter, *http.Request, *place)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := &place{door: d.door}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			p.malformed = r.ParseForm()
		}
		for _, secure := range []bool{true, false} {
			if store, known := d.door.stores.Get(maphash.String(d.door.seed, presented(r, secure))); known {
				p.party = store
				break
			}
		}
		if err := p.take(d.door.limiter.Enter(r.Context(), p.party)); err != nil {
			d.turnAway(w, r, err)
			return
		}
		defer p.leave()
		next(w, r, p)
	}
}

// turnAway answers a request that got no slot.
func (d *dashboard) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	if !errors.Is(err, overload.ErrRefused) {
		d.fail(w, r, err) // its time is over, or the browser has left
		return
	}
	d.notify(w, r, http.StatusServiceUnavailable, "The dashboard is busy", "There are more requests than it can answer in time. Reload the page in a moment.")
}
