package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/db"
)

const (
	// healthyStores have receivers that answer.
	healthyStores = 4
	// healthyRate is how many customers are created in each of them in a second.
	healthyRate = 10
	// hungTimeout is the workers' for an attempt: short, so that the one that hangs is tried often. A
	// lease lasts two seconds longer, which has to do for a busy machine.
	hungTimeout = 4 * time.Second
	// takenUp is how long before its arrival an attempt may have been taken up.
	takenUp = 2 * time.Second
	// deliveredP99 bounds the time from an answer to the arrival of its event, and slowestAnswer any
	// answer of the API on SQLite.
	deliveredP99  = 100 * time.Millisecond
	slowestAnswer = 250 * time.Millisecond
	// cancelledSoon is how soon everything that waited is cancelled in the short form, and cancelledLimit
	// bounds the wait for that.
	cancelledSoon, cancelledLimit = 30 * time.Second, 3 * time.Minute
)

// What waits for a webhook is deliveries of one event, $3, due now. Ids are UUIDs of version 7 (RFC
// 9562, 5.7).
const (
	waitPostgres = `INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, due_at, attempts, epoch, created_at)
SELECT (t.hex || '7' || substr(t.hash, 1, 3) || '8' || substr(t.hash, 4, 15))::uuid, $1::uuid, $2::uuid, $3::uuid, 'customer.created',
 now(), '[]', 1, now()
 FROM generate_series(1, $4::bigint) AS g
 CROSS JOIN LATERAL (SELECT lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') AS hex, md5(g::text) AS hash) t`

	waitSQLite = `WITH RECURSIVE series(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM series WHERE g < $4)
INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, due_at, attempts, epoch, created_at)
SELECT substr($5, 1, 8) || '-' || substr($5, 9, 4) || '-7000-8000-' || printf('%012x', g), $1, $2, $3, 'customer.created', $6, CAST('[]' AS blob), 1, $6 FROM series`
)

// hungStores are the first: each has a webhook that hangs, and a way in which it is disabled.
const hungStores = 2

// playLargeDisable disables webhooks with a large backlog while others are delivered to: one by the
// command, one by its failures.
func playLargeDisable(ctx context.Context, p *play) (err error) {
	server := p.server
	if p.on == onSQLite {
		server = ""
	}
	s, err := p.open(ctx, server, p.folder, shape{stores: hungStores + healthyStores + 1, keys: greedyKeys, products: 20, orders: 20, customers: 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	r := receiver.Start(receiver.OK)
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := s.trust(r, p.folder); err != nil {
		return err
	}
	hung, err := p.hooks(ctx, s, r)
	if err != nil {
		return err
	}
	if err := s.serve(ctx); err != nil {
		return err
	}
	for range 2 {
		if err := s.work(ctx, "--timeout="+hungTimeout.String(), "--retry-delays="+retryDelays); err != nil {
			return err
		}
	}
	handle, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handle.Close()) }()
	d := &disabling{play: p, stage: s, receiver: r, handle: handle}
	for n := range healthyStores {
		d.creators = append(d.creators, newCreator(s.api, healthyRate, s.stores[hungStores+n], 0))
	}
	d.bystander = newBystander(s.api, s.stores[hungStores+healthyStores])
	for n, way := range []struct {
		name    string
		disable func(ctx context.Context, hung webhook) error
	}{{"by the command", d.byCommand}, {"by its failures", d.byFailures}} {
		if err := d.disable(ctx, way.name, s.stores[n], hung[n], way.disable); err != nil {
			return err
		}
	}
	lost, err := s.metric(ctx, "storefront_leases_lost_total")
	p.wrong.add("lease lost", int(lost))
	p.bystander(d.quiet, d.then)
	return err
}

// hooks registers a webhook in each store but the last, the bystander's; those of the first hang.
func (p *play) hooks(ctx context.Context, s *stage, r *receiver.Receiver) (hung []webhook, err error) {
	var hooks []receiver.Hook
	for n := range hungStores + healthyStores {
		w, err := s.register(ctx, s.stores[n], r.URL(n))
		if err != nil {
			return nil, err
		}
		if n < hungStores {
			hung = append(hung, w)
		}
		hooks = append(hooks, receiver.Hook{Secret: w.Secret, Hangs: n < hungStores})
	}
	r.SetHooks(hooks)
	return hung, nil
}

// disabling is what stays the same from one webhook that is disabled to the next.
type disabling struct {
	*play
	stage       *stage
	receiver    *receiver.Receiver
	handle      *db.DB      // beside the service
	creators    []*openLoop // in the stores whose webhooks are healthy
	bystander   *openLoop
	quiet, then []call // the bystander's, of all so far
}

// byCommand disables a webhook by the command.
func (d *disabling) byCommand(ctx context.Context, hung webhook) error {
	_, err := d.stage.command(ctx, "webhook", "disable", hung.ID.String())
	return err
}

// byFailures makes a webhook one that has failed for longer than any patience, and waits until a
// worker has disabled it.
func (d *disabling) byFailures(ctx context.Context, hung webhook) error {
	since := d.handle.Now().AddDate(0, 0, -10)
	if _, err := d.handle.Writer().ExecContext(ctx, "UPDATE webhooks SET failing_since = $1 WHERE id = $2", since, hung.ID); err != nil {
		return fmt.Errorf("let it have failed for long: %w", err)
	}
	for limit := time.Now().Add(arrivedLimit + d.Span); ; {
		enabled := true
		if err := d.handle.Reader().QueryRowContext(ctx, "SELECT enabled FROM webhooks WHERE id = $1", hung.ID).Scan(&enabled); err != nil || !enabled {
			return err
		}
		if time.Now().After(limit) {
			return errors.New("no worker disables it")
		}
		if err := wait(ctx, settlePause); err != nil {
			return err
		}
	}
}

// backlog makes an event in a store and so many deliveries of it that wait. It returns the event.
func (d *disabling) backlog(ctx context.Context, of storeData, hung webhook) (event uuid.UUID, err error) {
	client := newClient(at(d.stage.api))
	defer client.close()
	made := client.call(request{"POST", "/v1/customers", of.key(0), newCustomerBody(0)}, time.Now(), answerTimeout)
	if made.verdict != served {
		return event, fmt.Errorf("create a customer: %s", made.what)
	}
	began := time.Now()
	if err := d.handle.Reader().QueryRowContext(ctx, "SELECT id FROM events WHERE store_id = $1 LIMIT 1", of.id).Scan(&event); err != nil {
		return event, fmt.Errorf("read the event: %w", err)
	}
	if d.on == onSQLite {
		hex := fmt.Sprintf("%012x", time.Now().UnixMilli())
		_, err = d.handle.Writer().ExecContext(ctx, waitSQLite, of.id, hung.ID, event, d.Waiting, hex, time.Now())
	} else {
		err = d.stage.sql(ctx, func(db *pgx.Conn) error {
			_, err := db.Exec(ctx, waitPostgres, of.id, hung.ID, event, d.Waiting)
			if err == nil {
				_, err = db.Exec(ctx, "VACUUM ANALYZE deliveries")
			}
			return err
		})
	}
	d.didf("%d deliveries waiting for a webhook that hangs, made in %s", d.Waiting, short(time.Since(began)))
	return event, err
}

// open opens the database beside the service.
func (s *stage) open(ctx context.Context) (*db.DB, error) {
	return db.Open(ctx, db.Config{URL: s.db.url, MaxConns: 2})
}

// disable disables a webhook while the others are delivered to, and draws the balance.
func (d *disabling) disable(ctx context.Context, name string, of storeData, hung webhook, way func(context.Context, webhook) error) error {
	backlog, err := d.backlog(ctx, of, hung)
	if err != nil {
		return err
	}
	for _, c := range append(d.creators, d.bystander) {
		c.start(ctx)
	}
	err = wait(ctx, d.calm())
	began := time.Now()
	if err == nil {
		err = way(ctx, hung)
	}
	disabled := time.Now()
	if err == nil { // those under way end meanwhile, and others would follow them
		err = wait(ctx, max(d.Span, hungTimeout+time.Second))
	}
	var calls []call
	for _, c := range d.creators {
		calls = append(calls, c.stop()...)
	}
	watched := d.bystander.stop()
	if err != nil {
		return err
	}
	answers(calls, &d.wrong)
	answers(watched, &d.wrong)
	for _, c := range watched {
		if c.due.Before(began) {
			d.quiet = append(d.quiet, c)
		} else {
			d.then = append(d.then, c)
		}
	}
	before, longest := longestOf(began, slices.Concat(watched, calls))
	d.didf("disabled %s in %s, beside %d healthy webhooks with %d events/s and two workers; longest answer of the API before %s, then %s",
		name, short(disabled.Sub(began)), healthyStores, healthyStores*healthyRate, fine(before), fine(longest))
	if d.on == onSQLite {
		d.mustFast(longest <= slowestAnswer, "%s: every answer of the API takes at most %s (%s)", name, slowestAnswer, fine(longest))
	}
	if err := d.cancelled(ctx, d.handle, hung, disabled); err != nil {
		return err
	}
	return d.delivered(ctx, d.handle, d.receiver, calls, backlog, began, disabled)
}

// longestOf is the longest that calls took that were due before a moment, and of the others.
func longestOf(at time.Time, calls []call) (before, since time.Duration) {
	for _, c := range calls {
		if c.due.Before(at) {
			before = max(before, c.took)
		} else {
			since = max(since, c.took)
		}
	}
	return before, since
}

// cancelled waits until nothing waits for the webhook any more.
func (p *play) cancelled(ctx context.Context, handle *db.DB, hung webhook, since time.Time) error {
	left := 0
	for time.Since(since) < cancelledLimit {
		if err := handle.Reader().QueryRowContext(ctx, "SELECT count(*) FROM deliveries WHERE webhook_id = $1", hung.ID).Scan(&left); err != nil {
			return fmt.Errorf("count what waits: %w", err)
		}
		if left == 0 {
			break
		}
		if err := wait(ctx, 10*settlePause); err != nil {
			return err
		}
	}
	took := time.Since(since)
	p.must(left == 0, "all that waited is cancelled within %s (%d left after %s)", cancelledLimit, left, short(took))
	if !p.Long {
		p.mustFast(took <= cancelledSoon, "and within %s", cancelledSoon)
	}
	return nil
}

// delivered compares what was created with what arrived.
func (p *play) delivered(ctx context.Context, handle *db.DB, r *receiver.Receiver, calls []call, backlog uuid.UUID, began, disabled time.Time) error {
	if _, err := r.Count(); err != nil {
		return err
	}
	eventOf, err := eventsOf(ctx, handle)
	if err != nil {
		return err
	}
	arrivals := map[uuid.UUID][]receiver.Request{}
	late := 0
	all := func() {
		clear(arrivals)
		late = 0
		for _, request := range r.Requests() {
			if request.Event != backlog {
				arrivals[request.Event] = append(arrivals[request.Event], request)
			} else if request.Arrived.After(disabled.Add(takenUp)) {
				late++
			}
		}
	}
	missing := func() (events []uuid.UUID) {
		for _, c := range calls {
			if e := eventOf[c.made]; c.verdict == served && len(arrivals[e]) == 0 {
				events = append(events, e)
			}
		}
		return events
	}
	for limit := time.Now().Add(cancelledLimit); ; {
		if all(); len(missing()) == 0 || time.Now().After(limit) {
			break
		}
		if err := wait(ctx, settlePause); err != nil {
			return err
		}
	}
	p.lost.add("event of an acknowledged change", len(missing()))
	p.wrong.add("attempt after the webhook was disabled", late)
	var quiet, then []call
	for _, c := range calls {
		list := arrivals[eventOf[c.made]]
		if c.verdict != served || len(list) == 0 {
			continue
		}
		p.wrong.add("duplicate", len(list)-1)
		way := call{due: c.ended(), took: max(0, list[0].Arrived.Sub(c.ended()))}
		if way.due.Before(began) {
			quiet = append(quiet, way)
		} else {
			then = append(then, way)
		}
	}
	before, after := latencies(quiet), latencies(then)
	p.didf("healthy webhooks, from the answer to the arrival: quiet p99 %s; from the command on p50 %s, p99 %s, longest %s: %.1f times the quiet p99",
		fine(percentile(before, 99)), fine(percentile(after, 50)), fine(percentile(after, 99)), fine(percentile(after, 100)), ratioOf(before, after))
	if p.on == onPostgres {
		p.mustFast(percentile(after, 99) <= deliveredP99, "healthy webhooks' p99 stays within %s (%s)", deliveredP99, fine(percentile(after, 99)))
	}
	return nil
}
