package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/queue"
)

// killedAt is when worker-1 was killed.
var killedAt = time.Date(2026, 9, 1, 12, 0, 0, int(300*time.Microsecond), time.UTC)

// sound is a ledger without a mistake. The first event was delivered at its second attempt. The worker was killed during the
// second event's: the receiver accepted it, and again two seconds later.
type sound struct {
	ledger
	plain, orphan uuid.UUID // the first and the second event
}

func newSound(t *testing.T) *sound {
	t.Helper()
	s := &sound{plain: uuid.New(), orphan: uuid.New()}
	customer, order := uuid.New(), uuid.New()
	s.events = []storedEvent{
		{id: s.plain, subject: customer, kind: "customer.created"}, {id: s.orphan, subject: order, kind: "order.paid"},
	}
	s.customers, s.orders = []uuid.UUID{customer}, []uuid.UUID{order}
	s.see(s.plain, 1, -10*time.Second, 500)
	s.see(s.plain, 2, -9*time.Second, 200)
	s.see(s.orphan, 1, -50*time.Millisecond, 200)
	s.see(s.orphan, 1, 2*time.Second, 200)
	s.finish(t, s.plain, queue.Attempt{Number: 1, StartedAt: killedAt.Add(-10 * time.Second), StatusCode: 500, Error: "status 500"},
		queue.Attempt{Number: 2, StartedAt: killedAt.Add(-9 * time.Second), StatusCode: 200})
	s.finish(t, s.orphan, queue.Attempt{Number: 1, StartedAt: killedAt.Add(2 * time.Second), StatusCode: 200})
	s.grant(0, 1, -10*time.Second, "worker-1")
	s.grant(0, 2, -9*time.Second, "worker-2")
	s.grant(1, 1, -60*time.Millisecond, "worker-1")
	s.grant(1, 1, 2*time.Second, "worker-2")
	s.kills = []kill{{killedAt, killedAt.Add(time.Millisecond), []string{"worker-1"}, false}}
	return s
}

const leaseTime = 4 * time.Second

// grant adds a lease for an attempt of the delivery with this index in s.journal, after killedAt or, if negative, before.
func (s *sound) grant(delivery, number int, after time.Duration, holder string) {
	at := killedAt.Add(after)
	s.leases = append(s.leases, lease{s.journal[delivery].id, number, at, at.Add(leaseTime), holder})
}

func (s *sound) see(event uuid.UUID, number int, after time.Duration, status int) {
	s.requests = append(s.requests, receiver.Request{Event: event, Attempt: number, Arrived: killedAt.Add(after), Status: status})
}

func (s *sound) finish(t *testing.T, event uuid.UUID, attempts ...queue.Attempt) {
	t.Helper()
	text, err := json.Marshal(attempts)
	require.NoError(t, err)
	s.journal = append(s.journal, finishedDelivery{uuid.New(), event, queue.Succeeded, text})
}

func TestASoundLedgerBalances(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	b := s.reconcile()
	require.NoError(t, b.err())
	require.Equal(t, 2, b.events)
	require.Equal(t, 4, b.requests)
	require.Equal(t, 1, b.orphans)
	require.Equal(t, 1, b.duplicates)
	// The journal rounds times down to milliseconds.
	require.InDelta(t, 2*time.Second, b.longest, float64(time.Millisecond))
}

func TestAnAttemptThatWasWrittenDownIsNoOrphan(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	// The attempt of the second event was finished before the kill: it has one request and one lease.
	s.requests, s.leases = s.requests[:3], s.leases[:3]
	b := s.reconcile()
	require.NoError(t, b.err())
	require.Zero(t, b.orphans)
	require.Zero(t, b.duplicates)
}

func TestASecondAttemptHasAReason(t *testing.T) {
	t.Parallel()
	killedLater := func(after time.Duration) func(s *sound) {
		return func(s *sound) { s.kills[0].from, s.kills[0].until = killedAt.Add(after), killedAt.Add(after) }
	}
	for _, row := range []struct {
		why           string
		change        func(s *sound)
		orphans, late int
		fault         string
	}{
		{"its worker was killed", func(*sound) {}, 1, 0, ""},
		{"its worker held it for too long and was killed then", killedLater(6 * time.Second), 1, 0, ""},
		{"the database crashed", func(s *sound) {
			s.kills = []kill{{from: killedAt, until: killedAt.Add(time.Minute), database: true}}
		}, 1, 0, ""},
		{"any worker was killed, where the database does not know whose it was", func(s *sound) { s.leases[2].holder = "" }, 1, 0, ""},
		{"its lease ran out, and its worker reports that", func(s *sound) { s.kills, s.lost = nil, 1 }, 0, 1, ""},
		{"none", func(s *sound) { s.kills = nil }, 0, 1, "came twice for no kill, where workers report 0 lost leases: 1 ("},
		{"another worker was killed", func(s *sound) { s.kills[0].holders[0] = "worker-2" }, 0, 1, "for no kill"},
		{"a worker was killed before it had the lease", killedLater(-time.Second), 0, 1, "for no kill"},
		{"its worker was killed long after", killedLater(9 * time.Second), 0, 1, "for no kill"},
		{"the database crashed before", func(s *sound) {
			s.kills[0].database, s.kills[0].until = true, killedAt.Add(-time.Second)
		}, 0, 1, "for no kill"},
		{"the database crashed when it had run out", func(s *sound) {
			s.kills[0].database, s.kills[0].from, s.kills[0].until = true, killedAt.Add(5*time.Second), killedAt.Add(6*time.Second)
		}, 0, 1, "for no kill"},
		{"fewer lost leases than second attempts", func(s *sound) {
			s.kills, s.lost = nil, 1
			s.see(s.orphan, 1, time.Minute, 200)
		}, 0, 2, "where workers report 1 lost leases: 2 ("},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			s := newSound(t)
			row.change(s)
			b := s.reconcile()
			require.Equal(t, row.orphans, b.orphans)
			require.Equal(t, row.late, b.late)
			if row.fault == "" {
				require.NoError(t, b.err())
				return
			}
			require.ErrorContains(t, b.err(), row.fault)
		})
	}
}

func TestAnAnswerThatCameTooLateIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	s.see(s.orphan, 2, 5*time.Second, 200)
	s.journal = s.journal[:1]
	s.finish(t, s.orphan, queue.Attempt{Number: 1, StartedAt: killedAt.Add(2 * time.Second), Error: "timeout"},
		queue.Attempt{Number: 2, StartedAt: killedAt.Add(5 * time.Second), StatusCode: 200})
	for n := range s.leases[2:] {
		s.leases[2+n].delivery = s.journal[1].id
	}
	b := s.reconcile()
	require.NoError(t, b.err())
	require.Equal(t, 2, b.duplicates)
}

func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why, says string
		change    func(t *testing.T, s *sound)
	}{
		{"an event is lost", "committed and never received: 1 (", func(_ *testing.T, s *sound) {
			s.requests = s.requests[:2]
		}},
		{"an event was only ever failed", "committed and never received: 1", func(_ *testing.T, s *sound) {
			s.requests[1].Status = 500
		}},
		{"an event of a transaction that was rolled back is sent", "received and never committed: 1", func(_ *testing.T, s *sound) {
			s.events = s.events[:1]
			s.orders = nil
		}},
		{"an acknowledged customer has no event", "without an event customer.created: 1", func(_ *testing.T, s *sound) {
			s.customers = append(s.customers, uuid.New())
		}},
		{"an acknowledged payment has another event only", "without an event order.paid: 1", func(_ *testing.T, s *sound) {
			s.events[1].kind = "order.failed"
		}},
		{"an event was never passed on", "exactly one delivery in the journal: 1", func(_ *testing.T, s *sound) {
			s.events = append(s.events, storedEvent{id: uuid.New(), subject: uuid.New(), kind: "order.paid"})
		}},
		{"an event was passed on twice", "exactly one delivery in the journal: 1", func(t *testing.T, s *sound) {
			s.finish(t, s.plain, queue.Attempt{Number: 1, StartedAt: killedAt, StatusCode: 200})
		}},
		{"a delivery was given up", "did not succeed: 1", func(_ *testing.T, s *sound) { s.journal[0].status = queue.Failed }},
		{"a second duplicate of one kill", "for no kill, where workers report 0 lost leases: 1", func(_ *testing.T, s *sound) {
			s.see(s.orphan, 1, time.Minute, 200)
		}},
		{"a duplicate of another event than the orphan's", "came twice for no kill", func(_ *testing.T, s *sound) {
			s.see(s.plain, 2, time.Minute, 200)
		}},
		{"an attempt follows one that was written down", "attempts after one that was accepted: 1", func(t *testing.T, s *sound) {
			s.see(s.orphan, 2, 5*time.Second, 200)
			s.journal = s.journal[:1]
			s.finish(t, s.orphan, queue.Attempt{Number: 1, StartedAt: killedAt, StatusCode: 200},
				queue.Attempt{Number: 2, StartedAt: killedAt, StatusCode: 200})
		}},
		{"an attempt is repeated though it was failed and written down", "came twice for no kill", func(_ *testing.T, s *sound) {
			s.see(s.plain, 1, -9500*time.Millisecond, 500)
		}},
		{"the journal has another status than the receiver gave", "another status in the journal: 1", func(_ *testing.T, s *sound) {
			s.requests[0].Status = 503
		}},
		{"an attempt is missing in the journal", "arrived and are not in the journal: 1", func(_ *testing.T, s *sound) {
			s.see(s.plain, 3, -8*time.Second, 500)
		}},
		{"the journal skips a number", "attempts out of order: 1", func(t *testing.T, s *sound) {
			s.journal = s.journal[1:]
			s.finish(t, s.plain, queue.Attempt{Number: 2, StartedAt: killedAt, StatusCode: 200})
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			s := newSound(t)
			row.change(t, s)
			b := s.reconcile()
			require.ErrorContains(t, b.err(), row.says)
		})
	}
}
