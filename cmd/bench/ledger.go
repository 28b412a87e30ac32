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
)

// lease is from the database's log.
type lease struct {
	delivery       uuid.UUID
	number         int // number of the attempt, from 1
	granted, until time.Time
	holder         string // the worker; "" if the database does not log it
}

// kill is a kill of processes, or a crash of the database.
type kill struct {
	from, until time.Time // the earliest and the latest time of the kill
	holders     []string  // names of the killed workers, as in lease.holder
	database    bool
}

// cutShort reports whether the kill broke off the attempt of l, which ended at end. A kill of the worker may have come later
// than end, by up to the length of the lease, because the worker may not have reported yet that it exceeded it.
func (k kill) cutShort(l lease, end time.Time) bool {
	if k.database {
		return !k.from.After(end) && !k.until.Before(l.granted)
	}
	killed := slices.Contains(k.holders, l.holder) || l.holder == "" && len(k.holders) > 0
	return killed && !k.until.Before(l.granted) && !k.from.After(end.Add(l.until.Sub(l.granted)))
}

// ledger is what is known once all deliveries are finished: what was committed, acknowledged, received and journaled, and all
// leases and kills.
type ledger struct {
	events    []storedEvent
	customers []uuid.UUID // ids whose creation the server acknowledged
	orders    []uuid.UUID // ids whose payment the server acknowledged
	requests  []receiver.Request
	journal   []finishedDelivery
	leases    []lease
	kills     []kill
	lost      int // leases that workers reported as lost
}

// balance has the counts of reconcile, and the violations of what the service guarantees.
type balance struct {
	events, requests int
	// orphans are attempts made again because a kill cut their lease short.
	orphans int
	// late are attempts that arrived twice because a lease ended while its worker lived; lost are the leases that workers
	// reported as lost.
	late, lost int
	// duplicates are requests for events that the receiver had already accepted.
	duplicates int
	// longest is the time from a kill that cut an attempt short until the attempt was made again.
	longest    time.Duration
	violations []*violation
}

// violation has the number of cases, and a description of the first.
type violation struct {
	kind  string
	cases int
	first string
}

// attemptKey is enough, because each event goes to one webhook.
type attemptKey struct {
	event  uuid.UUID
	number int
}

// reconcile checks the following, and returns the counts and the violations:
//
//   - Every acknowledged change has its event. The receiver accepted every event, and nothing else.
//   - Every event has one delivery in the journal, and it succeeded.
//   - Each attempt to which the journal has an answer arrived at the receiver once, with the status of this answer. It may have
//     arrived once more for each of its leases that was cut short, because its worker was killed or the database crashed.
//   - If an attempt arrived twice although nothing was killed, its lease ended while its worker lived. The worker notices and
//     reports the lost lease when it writes the result. So the number of such attempts is at most the number of lost leases
//     that the workers report.
//   - An accepted event is attempted again only while the journal has no answer.
func (l *ledger) reconcile() balance {
	b := balance{events: len(l.events), requests: len(l.requests), lost: l.lost}
	journal := l.attempts(&b)
	orphans := l.orphans(&b, journal)
	l.checkAccepted(&b)
	l.checkAcknowledged(&b)
	l.checkAttempts(&b, journal, orphans)
	return b
}

func (b *balance) addViolation(kind, format string, args ...any) {
	i := slices.IndexFunc(b.violations, func(v *violation) bool { return v.kind == kind })
	if i < 0 {
		b.violations = append(b.violations, &violation{kind: kind, first: fmt.Sprintf(format, args...)})
		i = len(b.violations) - 1
	}
	b.violations[i].cases++
}

func (b *balance) err() error {
	if len(b.violations) == 0 {
		return nil
	}
	lines := make([]string, len(b.violations))
	for i, v := range b.violations {
		lines[i] = fmt.Sprintf("%s: %d (%s)", v.kind, v.cases, v.first)
	}
	return errors.New(strings.Join(lines, "; "))
}

type journalDelivery struct {
	event    uuid.UUID
	attempts []queue.Attempt
}

// attempts returns the journal's deliveries by id, and adds the journal's own violations to b.
func (l *ledger) attempts(b *balance) map[uuid.UUID]journalDelivery {
	journal := map[uuid.UUID]journalDelivery{}
	count := map[uuid.UUID]int{}
	for _, row := range l.journal {
		attempts, err := queue.Attempts(row.attempts)
		if err != nil {
			b.addViolation("deliveries that cannot be read", "%s: %v", row.id, err)
		}
		for i, attempt := range attempts {
			if attempt.Number != i+1 {
				b.addViolation("attempts out of order", "delivery %s: attempt %d where number %d belongs", row.id, attempt.Number, i+1)
			}
		}
		if row.status != queue.Succeeded {
			b.addViolation("deliveries that did not succeed", "%s", row.id)
		}
		journal[row.id] = journalDelivery{row.event, attempts}
		count[row.event]++
	}
	for _, e := range l.events {
		if count[e.id] != 1 {
			b.addViolation("events without exactly one delivery in the journal", "%s has %d", e.id, count[e.id])
		}
	}
	return journal
}

// orphans returns how many of each attempt's leases a kill cut short.
func (l *ledger) orphans(b *balance, journal map[uuid.UUID]journalDelivery) map[attemptKey]int {
	type attempt struct {
		delivery uuid.UUID
		number   int
	}
	granted := map[attempt][]lease{}
	for _, grant := range l.leases {
		key := attempt{grant.delivery, grant.number}
		granted[key] = append(granted[key], grant)
	}
	orphans := map[attemptKey]int{}
	for key, leases := range granted {
		slices.SortFunc(leases, func(x, y lease) int { return x.granted.Compare(y.granted) })
		for n, next := range leases[1:] {
			held := leases[n]
			end := held.until
			if next.granted.Before(end) {
				end = next.granted
			}
			i := slices.IndexFunc(l.kills, func(k kill) bool { return k.cutShort(held, end) })
			if i < 0 {
				continue
			}
			b.orphans++
			orphans[attemptKey{journal[key.delivery].event, key.number}]++
			b.longest = max(b.longest, next.granted.Sub(l.kills[i].from))
		}
	}
	return orphans
}

// checkAccepted requires that the receiver accepted every committed event and no other.
func (l *ledger) checkAccepted(b *balance) {
	accepted := map[uuid.UUID]bool{}
	for _, r := range l.requests {
		if r.Succeeded() {
			accepted[r.Event] = true
		}
	}
	for _, e := range l.events {
		if !accepted[e.id] {
			b.addViolation("events committed and never received", "%s", e.id)
		}
		delete(accepted, e.id)
	}
	for id := range accepted {
		b.addViolation("events received and never committed", "%s", id)
	}
}

// checkAcknowledged requires that every acknowledged change has a committed event.
func (l *ledger) checkAcknowledged(b *balance) {
	type change struct {
		kind    string
		subject uuid.UUID
	}
	reported := map[change]bool{}
	for _, e := range l.events {
		reported[change{e.kind, e.subject}] = true
	}
	for kind, subjects := range map[string][]uuid.UUID{"customer.created": l.customers, "order.paid": l.orders} {
		for _, id := range subjects {
			if !reported[change{kind, id}] {
				b.addViolation("acknowledged changes without an event "+kind, "%s", id)
			}
		}
	}
}

// checkAttempts compares requests with the journal's attempts. orphans may have arrived once more. It sets b.duplicates and
// b.late.
func (l *ledger) checkAttempts(b *balance, journal map[uuid.UUID]journalDelivery, orphans map[attemptKey]int) {
	statuses := map[attemptKey][]int{}
	accepted := map[uuid.UUID]int{} // by event: number of the first attempt that the receiver accepted
	attempts := map[uuid.UUID][]queue.Attempt{}
	for _, d := range journal {
		attempts[d.event] = d.attempts
	}
	sorted := slices.SortedFunc(slices.Values(l.requests), func(x, y receiver.Request) int { return x.Arrived.Compare(y.Arrived) })
	for _, r := range sorted {
		attempt := attemptKey{r.Event, r.Attempt}
		statuses[attempt] = append(statuses[attempt], r.Status)
		first, before := accepted[r.Event]
		switch {
		case before:
			b.duplicates++
			for n := first; n < r.Attempt && n <= len(attempts[r.Event]); n++ {
				if answer := attempts[r.Event][n-1].StatusCode; answer != 0 {
					b.addViolation("attempts after one that was accepted", "event %s, attempt %d, though attempt %d was answered %d",
						r.Event, r.Attempt, n, answer)
					break
				}
			}
		case r.Succeeded():
			accepted[r.Event] = r.Attempt
		}
	}
	var late string // the last of the attempts that b.late counts
	for _, d := range journal {
		for _, made := range d.attempts {
			attempt := attemptKey{d.event, made.Number}
			seen := statuses[attempt]
			delete(statuses, attempt)
			if made.StatusCode != 0 && !slices.Contains(seen, made.StatusCode) {
				b.addViolation("attempts with another status in the journal", "event %s, attempt %d: %v, not %d",
					d.event, made.Number, seen, made.StatusCode)
			}
			if more := len(seen) - 1 - orphans[attempt]; more > 0 {
				b.late += more
				late = fmt.Sprintf("event %s, attempt %d: %d times, %d of its leases cut short by a kill",
					d.event, made.Number, len(seen), orphans[attempt])
			}
		}
	}
	if b.late > l.lost {
		kind := fmt.Sprintf("attempts that came twice for no kill, where workers report %d lost leases", l.lost)
		b.violations = append(b.violations, &violation{kind, b.late, late})
	}
	for attempt := range statuses {
		b.addViolation("attempts that arrived and are not in the journal", "event %s, attempt %d", attempt.event, attempt.number)
	}
}
