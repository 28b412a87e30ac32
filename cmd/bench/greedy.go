package main

import "time"

const (
	// greedyConnections is how many connections the greedy store uses at a time.
	greedyConnections = 16
	// greedyPause is the pause after a refusal of a client that does not heed Retry-After.
	greedyPause = 50 * time.Millisecond
	// defaultDeadline is the service's default for a request.
	defaultDeadline = 10 * time.Second
)

// playGreedyStore lets one store request its longest pages over many connections, and watches another store.
func playGreedyStore(p *play) { p.playGreedy("/v1/orders?pageSize=100", shape{stores: 2}) }

// playSearchFlood lets one store search its many customers for a text that all of them contain, and watches another store.
func playSearchFlood(p *play) {
	p.logf("%d customers in one store", p.Customers)
	p.playGreedy("/v1/customers?q=a", shape{stores: 2, firstCustomers: p.Customers})
}

func (p *play) playGreedy(path string, data shape) {
	s := p.open(data)
	p.require(s.serve(p.ctx))
	keys := &rotation{stores: s.stores[:1]}
	greedy := closedLoop{address: s.server.api, clients: greedyConnections, pause: greedyPause, next: keys.repeat("GET", path, "")}
	var asked []call
	watched := p.watch(p.bystander(s), func() {
		asked, _, _ = greedy.run(p.ctx, p.Span) // run returns an error only if strict is set
	})
	p.logf("%d connections of one store asked for %s for %s: %s", greedyConnections, path, p.Span, p.answerSummary(asked))
	p.mustMeetDeadline("request", asked, defaultDeadline)
	p.mustBeFair(watched)
}

const (
	// fewClients are so few that no request waits.
	fewClients = 8
	// minShare is how many requests a second, in proportion to those for few clients, the service must answer for many.
	minShare = 0.8
	// patientStores have patientKeys each, so that no key exceeds its rate limit.
	patientStores, patientKeys = 60, 100
)

// playPatientClients measures the requests a second for few and for many clients, which wait for their answers and heed
// Retry-After.
func playPatientClients(p *play) {
	s := p.open(shape{stores: patientStores, keys: patientKeys})
	p.require(s.serve(p.ctx))
	served := func(clients int) float64 {
		load := closedLoop{address: s.server.api, clients: clients, heedRetryAfter: true, next: s.keys.repeat("GET", "/v1/store", "")}
		calls, took, _ := load.run(p.ctx, p.Span) // run returns an error only if strict is set
		p.logf("%d clients for %s: %s", clients, p.Span, p.answerSummary(calls))
		p.mustMeetDeadline("request", calls, defaultDeadline)
		return float64(p.countAnswers(calls)[0]) / took.Seconds()
	}
	// Measure a few clients before and after, because other work on the machine varies.
	before, rate64, rate512, after := served(fewClients), served(64), served(512), served(fewClients)
	for clients, rate := range map[int]float64{64: rate64, 512: rate512} {
		share := 2 * rate / (before + after)
		p.mustFast(share >= minShare, "%d clients are served at least %.0f %% of what %d are (%.0f %%)",
			clients, 100*minShare, fewClients, 100*share)
	}
}
