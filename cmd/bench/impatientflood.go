package main

import (
	"context"
	"errors"
	"os"
	"time"
)

const (
	// patience is how long an impatient client waits for an answer.
	patience = 100 * time.Millisecond
	// pause is how long a client that was refused or gave up waits before it asks again, and
	// heededPause the same for one that heeds Retry-After.
	pause       = 100 * time.Millisecond
	heededPause = time.Second
	// patientConnections are those of the patient clients that the flood is measured by.
	patientConnections = 64
	// floodShare is the least share of the patient clients' answers that the impatient ones get.
	floodShare = 0.8
	// floodStores and floodKeys have enough keys for every request within the limits of each.
	floodStores, floodKeys = 60, 100
	// floodedP99 is what the p99 may be a second after the flood whatever it was before.
	floodedP99 = 25 * time.Millisecond
)

// flood is what a number of clients got.
type flood struct {
	inTime, refused, gaveUp int
	answered                []time.Duration // sorted
	took                    time.Duration
}

// newFlood counts calls, and adds what is none of these to a tally.
func newFlood(calls []call, took time.Duration, strange *tally) *flood {
	f := &flood{took: took}
	var inTime []call
	for _, c := range calls {
		switch {
		case c.verdict == served:
			inTime = append(inTime, c)
		case c.verdict == refused:
			f.refused++
		case c.what == givenUp:
			f.gaveUp++
		default:
			strange.add(c.what, 1)
		}
	}
	f.inTime, f.answered = len(inTime), latencies(inTime)
	return f
}

// rate is answers in time in a second.
func (f *flood) rate() float64 { return float64(f.inTime) / f.took.Seconds() }

// playImpatientFlood measures what patient clients get, floods the service with impatient ones,
// and watches how soon it is well again.
func playImpatientFlood(ctx context.Context, p *play) (err error) {
	s, err := p.open(ctx, p.server, p.folder, shape{stores: floodStores, keys: floodKeys, products: floodStores, orders: floodStores, customers: floodStores})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.serve(ctx, "--log-format=json"); err != nil {
		return err
	}
	// The last store's keys are the bystander's alone.
	turns := &workload{stores: s.stores[:floodStores-1]}
	bystander := newBystander(s.api, s.stores[floodStores-1])
	quiet, err := bystander.watch(ctx, p.calm())
	if err != nil {
		return err
	}
	patient, err := p.flooded(ctx, s, turns, patientConnections, answerTimeout, pause)
	if err != nil {
		return err
	}
	var under []call
	for _, connections := range p.Flood {
		heeding, err := p.flooded(ctx, s, turns, connections, patience, heededPause)
		if err != nil {
			return err
		}
		share := heeding.rate() / patient.rate()
		p.mustFast(share >= floodShare, "%d impatient clients that heed Retry-After get at least %.0f %% in time of what %d patient ones get (%.0f %%)",
			connections, 100*floodShare, patientConnections, 100*share)
		bystander.start(ctx)
		impatient, err := p.flooded(ctx, s, turns, connections, patience, pause)
		ended := time.Now()
		under = append(under, bystander.stop()...)
		if err != nil {
			return err
		}
		share = impatient.rate() / patient.rate()
		p.mustFast(share >= floodShare, "%d impatient clients get at least %.0f %% in time of what %d patient ones get (%.0f %%)",
			connections, 100*floodShare, patientConnections, 100*share)
		after, err := bystander.watch(ctx, recoveryBound+p.calm())
		if err != nil {
			return err
		}
		var later []call
		for _, c := range after {
			if c.due.Sub(ended) >= recoveryBound {
				later = append(later, c)
			}
		}
		answers(after, &p.wrong)
		p99, before := percentile(latencies(later), 99), percentile(latencies(quiet), 99)
		p.mustFast(p99 <= max(2*before, floodedP99), "%s after %d impatient clients p99 is %s (quiet %s)", recoveryBound, connections, fine(p99), fine(before))
	}
	p.bystander(quiet, under)
	answers(quiet, &p.wrong)
	counts := answers(under, &p.wrong)
	p.didf("a patient bystander under the floods: %d served, %d refused with 503", counts[served], counts[refused])
	return nil
}

// flooded asks over a number of connections for the span of the scene, each with so much patience,
// and writes down what it cost.
func (p *play) flooded(ctx context.Context, s *stage, turns *workload, connections int, patience, pause time.Duration) (*flood, error) {
	spent := func() (own, server, database time.Duration, err error) {
		own, err1 := processCPU(os.Getpid())
		server, err2 := s.server.cpu()
		database, err3 := s.db.cpu()
		return own, server, database, errors.Join(err1, err2, err3)
	}
	sessions, err := s.sessions(ctx)
	if err != nil {
		return nil, err
	}
	own, server, database, err := spent()
	if err != nil {
		return nil, err
	}
	calls, took, _ := closedLoop{address: s.api, clients: connections, patience: patience, pause: pause, next: func(int) request {
		_, key := turns.take()
		return request{method: "GET", path: "/v1/store", key: key}
	}}.run(ctx, p.Span) // without strict it does not fail
	f := newFlood(calls, took, &p.wrong)
	ownAfter, serverAfter, databaseAfter, err := spent()
	if err != nil {
		return nil, err
	}
	opened, err := s.sessions(ctx)
	if err != nil {
		return nil, err
	}
	kind := "patient"
	if patience < answerTimeout {
		kind = "impatient"
	}
	if pause > patience {
		kind += ", Retry-After heeding"
	}
	share := func(d time.Duration) float64 { return d.Seconds() / f.took.Seconds() }
	p.didf("%d %s clients for %s: %d answers in time (%.0f/s, p99 %s), %d refused with 503, %d given up; %d new sessions of the database; processors: clients %.2f, server %.2f, database %.2f",
		connections, kind, p.Span, f.inTime, f.rate(), fine(percentile(f.answered, 99)), f.refused, f.gaveUp, opened-sessions,
		share(ownAfter-own), share(serverAfter-server), share(databaseAfter-database))
	return f, ctx.Err()
}

// sessions is how many connections the database has had.
func (s *stage) sessions(ctx context.Context) (count int, err error) {
	err = s.db.server.QueryRow(ctx, "SELECT sessions FROM pg_stat_database WHERE datname = $1", s.db.made).Scan(&count)
	return count, err
}
