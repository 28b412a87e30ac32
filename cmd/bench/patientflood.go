package main

import (
	"context"
	"errors"
	"time"
)

const (
	// heededPause is how long a client that was refused waits before it asks again, as Retry-After says.
	heededPause = time.Second
	// unloadedConnections are those of the clients that the flood is measured by.
	unloadedConnections = 16
	// floodShare is the least share of their answers that many clients get.
	floodShare = 0.8
	// floodStores and floodKeys have enough keys for every request within the limits of each.
	floodStores, floodKeys = 60, 100
)

// playPatientFlood measures what a few clients get, and then what many patient ones do.
func playPatientFlood(ctx context.Context, p *play) (err error) {
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
	unloaded, err := p.flooded(ctx, s, turns, unloadedConnections)
	if err != nil {
		return err
	}
	var under []call
	for _, connections := range p.Flood {
		bystander.start(ctx)
		rate, err := p.flooded(ctx, s, turns, connections)
		under = append(under, bystander.stop()...)
		if err != nil {
			return err
		}
		p.mustFast(rate >= floodShare*unloaded, "%d clients get at least %.0f %% of what %d get (%.0f %%)",
			connections, 100*floodShare, unloadedConnections, 100*rate/unloaded)
	}
	p.bystander(quiet, under)
	answers(quiet, &p.wrong)
	counts := answers(under, &p.wrong)
	p.didf("a bystander under the floods: %d served, %d refused with 503", counts[served], counts[refused])
	return nil
}

// flooded asks over a number of connections for the span of the scene, and returns how many were served in a second.
func (p *play) flooded(ctx context.Context, s *stage, turns *workload, connections int) (rate float64, err error) {
	calls, took, _ := closedLoop{address: s.api, clients: connections, pause: heededPause, next: func(int) request {
		_, key := turns.take()
		return request{method: "GET", path: "/v1/store", key: key}
	}}.run(ctx, p.Span) // without strict it does not fail
	counts := answers(calls, &p.wrong)
	var inTime []call
	for _, c := range calls {
		if c.verdict == served {
			inTime = append(inTime, c)
		}
	}
	rate = float64(len(inTime)) / took.Seconds()
	p.didf("%d clients for %s: %.0f answers a second, p99 %s, %d refused with 503", connections, p.Span, rate, fine(percentile(latencies(inTime), 99)), counts[refused])
	return rate, ctx.Err()
}
