package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/cmd/bench/receiver"
)

const (
	// healthyStores have receivers that answer. The first store's hangs.
	healthyStores = 4
	// healthyRate is how many customers a second are created in each of them.
	healthyRate = 10
	// hungTimeout is the workers' timeout of an attempt: short, so that they try the hanging receiver often. Within the two
	// seconds by which a lease outlasts it, a busy machine must write the result.
	hungTimeout = 4 * time.Second
	// claimedBefore is the longest time from an attempt's claim to its arrival. So long after the webhook was disabled,
	// attempts may arrive.
	claimedBefore = 2 * time.Second
	// deliveredP99 limits, on PostgreSQL, the time from a client's answer to the arrival of the event, and disabledWithin that
	// of the command.
	deliveredP99, disabledWithin = 100 * time.Millisecond, 500 * time.Millisecond
	// cancelledLimit bounds the wait until all waiting deliveries are cancelled.
	cancelledLimit = 3 * time.Minute
)

// A webhook's backlog is due deliveries of one event, $3. Ids are UUIDs of version 7 (RFC 9562, 5.7).
const (
	waitPostgres = `INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, due_at, attempts, epoch, created_at)
SELECT (t.hex || '7' || substr(t.hash, 1, 3) || '8' || substr(t.hash, 4, 15))::uuid, $1::uuid, $2::uuid, $3::uuid,
 'customer.created', now(), '[]', 1, now()
 FROM generate_series(1, $4::bigint) AS g
 CROSS JOIN LATERAL (SELECT lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') AS hex, md5(g::text) AS hash) t`

	waitSQLite = `WITH RECURSIVE series(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM series WHERE g < $4),
 now(ms) AS (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER))
INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, due_at, attempts, epoch, created_at)
SELECT substr(printf('%012x', ms), 1, 8) || '-' || substr(printf('%012x', ms), 9, 4) || '-7000-8000-' || printf('%012x', g),
 $1, $2, $3, 'customer.created', ms, CAST('[]' AS blob), 1, ms FROM series, now`
)

// disabling is a scene in which the first store's webhook hangs and is then disabled.
type disabling struct {
	*play
	*stage
	webhook string    // the id of the hanging webhook
	event   uuid.UUID // the event of every delivery in the webhook's backlog
}

// playLargeDisable disables a webhook with a large backlog, and enables it when part may not be cancelled yet. All of the
// backlog must be cancelled, and no attempt may arrive later than claimedBefore.
func playLargeDisable(p *play) {
	s := p.open(shape{stores: 1 + healthyStores + 1})
	p.require(s.subscribe(p.ctx, 1+healthyStores, receiver.OK, func(store int) bool { return store == 0 }))
	p.require(s.serve(p.ctx))
	p.require(s.startWorkers(p.ctx, 2, "--timeout="+hungTimeout.String(), retryDelays))
	_, err := s.open(p.ctx)
	p.require(err)
	d := &disabling{play: p, stage: s, webhook: s.webhooks[0].ID.String()}
	d.backlog()
	var created []call
	var began, disabled time.Time
	bystander := p.watch(p.bystander(s), func() {
		created = p.underLoad(func() {
			p.wait(p.quietTime())
			began = time.Now()
			d.run("disable")
			disabled = time.Now()
			p.wait(claimedBefore)
			d.run("enable")
			// When an attempt ends, its worker might wrongly send a delivery of the backlog.
			p.wait(max(p.Span, hungTimeout+time.Second))
		}, d.creators()...)
	})
	took := disabled.Sub(began)
	p.logf("disabled in %s, beside %d healthy webhooks with %d events/s each", roundDuration(took), healthyStores, healthyRate)
	p.mustFast(took <= disabledWithin, "the command ends within %s (%s)", disabledWithin, roundLatency(took))
	p.logf("bystander: %s", p.answerSummary(bystander))
	p.logf("creators: %s", p.answerSummary(created))
	p.mustBePrompt(bystander)
	d.checkCancelled(disabled)
	d.checkDelivered(created, began, disabled)
}

func (d *disabling) run(command string) {
	_, err := d.command(d.ctx, "webhook", command, d.webhook)
	d.require(err)
}

func (d *disabling) creators() (loads []*openLoop) {
	for n := range healthyStores {
		loads = append(loads, d.creator(d.stage, 1+n, healthyRate))
	}
	return loads
}

// backlog makes many waiting deliveries of one event.
func (d *disabling) backlog() {
	began, store := time.Now(), d.stores[0]
	client := newClient(at(d.server.api))
	defer client.close()
	made := client.call(request{method: "POST", path: "/v1/customers", key: store.key(0), body: newCustomerBody(0)}, time.Now())
	if made.verdict != served {
		d.require(fmt.Errorf("create a customer: %s", made.problem))
	}
	d.require(d.handle.Reader().QueryRowContext(d.ctx, "SELECT id FROM events WHERE store_id = $1 LIMIT 1", store.id).Scan(&d.event))
	statement := waitPostgres
	if d.sqlite {
		statement = waitSQLite
	}
	_, err := d.handle.Writer().ExecContext(d.ctx, statement, store.id, d.webhook, d.event, d.Waiting)
	d.require(err)
	if !d.sqlite {
		_, err = d.handle.Writer().ExecContext(d.ctx, "VACUUM ANALYZE deliveries")
		d.require(err)
	}
	d.logf("%d deliveries waiting for a webhook that hangs, made in %s", d.Waiting, roundDuration(time.Since(began)))
}

// checkCancelled waits until no delivery waits for the hanging webhook. since is when it was disabled.
func (d *disabling) checkCancelled(since time.Time) {
	remaining := 0
	_, err := poll(d.ctx, cancelledLimit, func() (bool, error) {
		err := d.handle.Reader().QueryRowContext(d.ctx, "SELECT count(*) FROM deliveries WHERE webhook_id = $1", d.webhook).
			Scan(&remaining)
		return remaining == 0, err
	})
	d.require(err)
	d.must(remaining == 0, "all that waited is cancelled within %s (%d left after %s)",
		cancelledLimit, remaining, roundDuration(time.Since(since)))
}

// checkDelivered requires that the event of every created customer arrived once, and none for the webhook after it was
// disabled. Customers from before began show how long events take without the fault.
func (d *disabling) checkDelivered(created []call, began, disabled time.Time) {
	_, err := d.receiver.Count()
	d.require(err)
	eventOf := d.checkEveryEvent(d.stage, created)
	var arrivals map[uuid.UUID][]time.Time
	arrived := func(c call) bool { return len(arrivals[eventOf[c.created]]) > 0 }
	acknowledged := slices.DeleteFunc(created, func(c call) bool { return c.verdict != served })
	late := 0
	_, err = poll(d.ctx, receivedLimit, func() (bool, error) {
		arrivals, late = map[uuid.UUID][]time.Time{}, 0
		for _, request := range d.receiver.Requests() {
			if request.Event != d.event {
				arrivals[request.Event] = append(arrivals[request.Event], request.Arrived)
			} else if request.Arrived.After(disabled.Add(claimedBefore)) {
				late++
			}
		}
		return !slices.ContainsFunc(acknowledged, func(c call) bool { return !arrived(c) }), nil
	})
	d.require(err)
	d.wrong.add("attempt after the webhook was disabled", late)
	var before, during []time.Duration
	for _, c := range acknowledged {
		if !arrived(c) {
			d.lost.add("event of an acknowledged change", 1)
			continue
		}
		list := arrivals[eventOf[c.created]]
		d.wrong.add("duplicate", len(list)-1)
		took := max(0, list[0].Sub(c.ended()))
		if c.ended().Before(began) {
			before = append(before, took)
		} else {
			during = append(during, took)
		}
	}
	slices.Sort(before)
	slices.Sort(during)
	p99 := percentile(during, 99)
	d.logf("healthy webhooks, from the answer to the arrival: quiet p99 %s; then p50 %s, p99 %s, longest %s",
		roundLatency(percentile(before, 99)),
		roundLatency(percentile(during, 50)), roundLatency(p99), roundLatency(percentile(during, 100)))
	if !d.sqlite {
		d.mustFast(p99 <= deliveredP99, "healthy webhooks' p99 stays within %s (%s)", deliveredP99, roundLatency(p99))
	}
}
