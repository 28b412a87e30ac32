package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/finisheddelivery"
)

// orphanBound is how long after a kill an attempt that was under way must be made again, as long
// as there is a worker and a database.
const orphanBound = 15 * time.Second

// inFlight is a delivery that was under a lease when something was killed: an attempt was being
// made, or had been made and was not written down.
type inFlight struct {
	delivery uuid.UUID
	number   int // of the attempt
	at       time.Time
}

// outage is a time during which no worker ran, or the database did not.
type outage struct{ from, to time.Time }

// account is all that is known when everything has settled: what was committed, what was
// acknowledged to whoever caused it, what the receiver saw, and what the journal says.
type account struct {
	events    []committed
	customers []uuid.UUID // created, and acknowledged by the server
	orders    []uuid.UUID // paid, and acknowledged by the trader
	requests  []receiver.Request
	journal   []*ent.FinishedDelivery
	inFlight  []inFlight
	outages   []outage
}

// balance is what comes of an account.
type balance struct {
	events, requests int
	// orphans are the attempts that were in flight at a kill and were never written down.
	orphans int
	// duplicates are the requests for an event that the receiver had accepted before.
	duplicates int
	// longest is the longest that an orphan took from the kill until its attempt was made again;
	// longestUp is the same without the outages.
	longest, longestUp time.Duration
	faults             []*fault
}

// fault is something that must not be: how often it is, and the first case.
type fault struct {
	what  string
	cases int
	first string
}

// sent is an attempt as the receiver tells it apart: an event goes to one webhook.
type sent struct {
	event  uuid.UUID
	number int
}

// settleUp draws the balance:
//
//   - What was acknowledged has its event, every event was accepted by the receiver, and the receiver
//     accepted nothing else.
//   - Every event has one delivery in the journal, and it succeeded.
//   - An attempt in flight at a kill is an orphan if the journal's attempt of its number began after
//     the kill: the one that was in flight was not written down, and its number was given again.
//   - The receiver saw each attempt of the journal once, with its status, and once more for each
//     orphan at most. So duplicates are bounded by the orphans, event by event, and these by the
//     attempts that were in flight.
//   - No orphan waited longer than orphanBound while there was a worker and a database.
func (a *account) settleUp() balance {
	b := balance{events: len(a.events), requests: len(a.requests)}
	attempts := a.attempts(&b)
	orphans := a.orphans(&b, attempts)
	a.accepted(&b)
	a.acknowledged(&b)
	a.compare(&b, attempts, orphans)
	return b
}

// fault adds a case of a fault.
func (b *balance) fault(what, format string, args ...any) {
	i := slices.IndexFunc(b.faults, func(f *fault) bool { return f.what == what })
	if i < 0 {
		b.faults = append(b.faults, &fault{what: what, first: fmt.Sprintf(format, args...)})
		i = len(b.faults) - 1
	}
	b.faults[i].cases++
}

// err tells all faults in one line; nil without any.
func (b *balance) err() error {
	if len(b.faults) == 0 {
		return nil
	}
	told := make([]string, len(b.faults))
	for i, f := range b.faults {
		told[i] = fmt.Sprintf("%s: %d (%s)", f.what, f.cases, f.first)
	}
	return errors.New(strings.Join(told, "; "))
}

// delivered is a delivery of the journal.
type delivered struct {
	event    uuid.UUID
	attempts []queue.Attempt
}

// attempts reads the journal, by delivery.
func (a *account) attempts(b *balance) map[uuid.UUID]delivered {
	journal := map[uuid.UUID]delivered{}
	count := map[uuid.UUID]int{}
	for _, row := range a.journal {
		attempts, err := queue.Attempts(row.Attempts)
		if err != nil {
			b.fault("deliveries that cannot be read", "%s: %v", row.ID, err)
		}
		for i, attempt := range attempts {
			if attempt.Number != i+1 {
				b.fault("attempts out of order", "delivery %s: attempt %d in place %d", row.ID, attempt.Number, i+1)
			}
		}
		if row.Status != finisheddelivery.StatusSucceeded {
			b.fault("deliveries that did not succeed", "%s", row.ID)
		}
		journal[row.ID] = delivered{row.EventID, attempts}
		count[row.EventID]++
	}
	for _, e := range a.events {
		if count[e.id] != 1 {
			b.fault("events without exactly one delivery in the journal", "%s has %d", e.id, count[e.id])
		}
	}
	return journal
}

// orphans counts the orphans of each attempt.
func (a *account) orphans(b *balance, journal map[uuid.UUID]delivered) map[sent]int {
	orphans := map[sent]int{}
	for _, f := range a.inFlight {
		d, found := journal[f.delivery]
		if !found || len(d.attempts) < f.number {
			b.fault("attempts in flight at a kill that were never made again", "delivery %s, attempt %d", f.delivery, f.number)
			continue
		}
		// The journal keeps milliseconds.
		started := d.attempts[f.number-1].StartedAt
		if started.Before(f.at.Truncate(time.Millisecond)) {
			continue // whoever made it lived on and wrote it down
		}
		b.orphans++
		orphans[sent{d.event, f.number}]++
		waited := started.Sub(f.at)
		up := waited - a.out(f.at, started)
		b.longest, b.longestUp = max(b.longest, waited), max(b.longestUp, up)
		if up > orphanBound {
			b.fault("orphans that waited too long", "delivery %s: %s after the kill, %s of it with a worker", f.delivery, waited, up)
		}
	}
	return orphans
}

// out is how much of a time was outage.
func (a *account) out(from, to time.Time) time.Duration {
	var sum time.Duration
	for _, o := range a.outages {
		begin, end := o.from, o.to
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		if end.After(begin) {
			sum += end.Sub(begin)
		}
	}
	return sum
}

// accepted compares what was committed with what the receiver accepted.
func (a *account) accepted(b *balance) {
	accepted := map[uuid.UUID]bool{}
	for _, r := range a.requests {
		if r.Succeeded() {
			accepted[r.Event] = true
		}
	}
	for _, e := range a.events {
		if !accepted[e.id] {
			b.fault("events committed and never received", "%s", e.id)
		}
		delete(accepted, e.id)
	}
	for id := range accepted {
		b.fault("events received and never committed", "%s", id)
	}
}

// acknowledged looks for the events of what was acknowledged.
func (a *account) acknowledged(b *balance) {
	type change struct {
		kind    string
		subject uuid.UUID
	}
	told := map[change]bool{}
	for _, e := range a.events {
		told[change{e.kind, e.subject}] = true
	}
	for kind, subjects := range map[string][]uuid.UUID{"customer.created": a.customers, "order.paid": a.orders} {
		for _, id := range subjects {
			if !told[change{kind, id}] {
				b.fault("acknowledged changes without an event "+kind, "%s", id)
			}
		}
	}
}

// compare holds what the receiver saw against the journal, and counts the duplicates.
func (a *account) compare(b *balance, journal map[uuid.UUID]delivered, orphans map[sent]int) {
	statuses := map[sent][]int{}
	accepted := map[uuid.UUID]bool{}
	bound := map[uuid.UUID]int{}
	for attempt, n := range orphans {
		bound[attempt.event] += n
	}
	sorted := slices.SortedFunc(slices.Values(a.requests), func(x, y receiver.Request) int { return x.Arrived.Compare(y.Arrived) })
	for _, r := range sorted {
		attempt := sent{r.Event, r.Attempt}
		statuses[attempt] = append(statuses[attempt], r.Status)
		if accepted[r.Event] {
			b.duplicates++
			if bound[r.Event]--; bound[r.Event] < 0 {
				b.fault("duplicates of no attempt in flight at a kill", "event %s, attempt %d", r.Event, r.Attempt)
			}
		}
		accepted[r.Event] = accepted[r.Event] || r.Succeeded()
	}
	for _, d := range journal {
		for _, made := range d.attempts {
			attempt := sent{d.event, made.Number}
			seen := statuses[attempt]
			delete(statuses, attempt)
			if made.StatusCode != 0 && !slices.Contains(seen, made.StatusCode) {
				b.fault("attempts that the receiver answered otherwise than the journal has it", "event %s, attempt %d: %v, not %d",
					d.event, made.Number, seen, made.StatusCode)
			}
			if len(seen) > 1+orphans[attempt] {
				b.fault("attempts that arrived too often", "event %s, attempt %d: %d times, in flight at %d kills",
					d.event, made.Number, len(seen), orphans[attempt])
			}
		}
	}
	for attempt := range statuses {
		b.fault("attempts that arrived and are not in the journal", "event %s, attempt %d", attempt.event, attempt.number)
	}
}
