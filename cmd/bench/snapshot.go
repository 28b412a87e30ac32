package main

import (
	"context"
	"time"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
)

const (
	// heldSpan is the default of --span for this scene: a pg_dump of a large database holds its snapshot for minutes.
	heldSpan = 10 * time.Minute
	// heldRate payments a second are made over heldWriters connections, in heldStores stores.
	heldRate, heldWriters, heldStores = 250, 8, 50
	// heldParts divide the span in the report. The measurement without the snapshot lasts as long as one part.
	heldParts = 5
	// heldFactor limits the p99 with the snapshot, as a multiple of that without it.
	heldFactor = 2
)

// deadRows counts those of the tables that workers and servers search all the time.
const deadRows = `SELECT string_agg(n_dead_tup || ' of ' || relname, ', ' ORDER BY relname) FROM pg_stat_user_tables
 WHERE relname IN ('deliveries', 'row_deltas')`

// playHeldSnapshot pays orders at a steady rate, first without a snapshot, and then while a transaction holds one open.
func playHeldSnapshot(p *play) {
	part := p.Span / heldParts
	events := max(1, int(heldRate*part.Seconds()))
	// The payments of the first second are a warm-up.
	data := shape{stores: heldStores, products: 20 * heldStores, customers: 20 * heldStores, pending: true,
		orders: heldRate + (1+heldParts)*events + heldStores}
	s, err := openStage(p.ctx, p.workspace, p.shared.URL(), data)
	p.require(err)
	p.cleanup(func() error { return s.close(p.ctx) })
	p.require(s.subscribe(p.ctx, heldStores, receiver.OK, noneHangs))
	p.require(s.serve(p.ctx))
	p.require(s.startWorkers(p.ctx, 1))
	handle, err := s.open(p.ctx)
	p.require(err)
	run := &webhooksRun{stage: s, webhooksCommand: &webhooksCommand{Writers: heldWriters}}

	// pay returns the p99 of the time from a commit to the arrival of its event.
	pay := func(ctx context.Context, label string, events int) time.Duration {
		s.receiver.Forget()
		payments, err := run.pay(ctx, paymentPlan{stores: heldStores, events: events, rate: heldRate})
		p.require(err)
		p.require(run.awaitArrivals(ctx, events))
		first, last := commits(payments)
		times, err := run.times(ctx, payments, first)
		p.require(err)
		var dead string
		p.require(handle.Reader().QueryRowContext(ctx, deadRows).Scan(&dead))
		p50, p99 := percentile(times, 50), percentile(times, 99)
		p.logf("%s, %.0f payments/s: commit to arrival p50 %s, p99 %s, longest %s; dead rows: %s",
			label, float64(events)/last.Sub(first).Seconds(),
			roundLatency(p50), roundLatency(p99), roundLatency(percentile(times, 100)), dead)
		return p99
	}
	pay(p.ctx, "warming up", heldRate)
	free, held := pay(p.ctx, "free", events), time.Duration(0)
	p.require(handle.Snapshot(p.ctx, db.ReaderExport, func(ctx context.Context, tx *ent.Tx) error {
		if _, err := tx.Store.Query().Count(ctx); err != nil {
			return err
		}
		until := time.Duration(0)
		for range heldParts {
			until += part
			held = max(held, pay(ctx, "held until "+until.String(), events))
		}
		return nil
	}))
	p.mustFast(held < heldFactor*free, "p99 while the snapshot is held stays below %d times the free one (%s, free %s)",
		heldFactor, roundLatency(held), roundLatency(free))
}
