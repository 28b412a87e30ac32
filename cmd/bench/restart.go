package main

import (
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	// restarts is how many times one server replaces another.
	restarts    = 3
	restartRate = 40
	// drainDelay is how long a server still serves after SIGTERM, so that the load balancer notices that it ends.
	drainDelay = time.Second
)

// playRollingRestart replaces the server several times under load. As behind a load balancer, new connections go to a server
// that is ready.
func playRollingRestart(p *play) {
	s := p.open(shape{stores: 2})
	p.require(s.serve(p.ctx, "--drain-delay="+drainDelay.String()))
	var ready atomic.Pointer[process]
	ready.Store(s.server)
	reader, writer := p.bystander(s), p.creator(s, 0, restartRate)
	reader.address = func() string { return ready.Load().api }
	writer.address = reader.address
	// As HTTP clients do, for a connection that was closed before a request used it.
	reader.retries = 1

	var written []call
	watched := p.watch(reader, func() {
		written = p.underLoad(func() {
			for range restarts {
				old := s.server
				p.require(s.serve(p.ctx, "--drain-delay="+drainDelay.String()))
				ready.Store(s.server)
				p.require(old.stop())
			}
			p.wait(p.Span)
		}, writer)
	})
	p.logf("%d servers took each other's place; reads: %s", restarts+1, p.answerSummary(watched))
	p.logf("writes: %s", p.answerSummary(written))
	p.mustBePrompt(watched)
	p.checkEveryEvent(s, written)
}

// checkEveryEvent requires the event of every created customer, and returns all events by customer.
func (p *play) checkEveryEvent(s *stage, written []call) map[uuid.UUID]uuid.UUID {
	events, err := s.eventsByCustomer(p.ctx)
	p.require(err)
	for _, c := range written {
		if c.verdict == served && events[c.created] == uuid.Nil {
			p.lost.add("acknowledged write or its event", 1)
		}
	}
	return events
}
