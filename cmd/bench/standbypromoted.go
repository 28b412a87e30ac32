package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest/cluster"
)

const (
	// failoverRate is how many customers are created in a second in each of two stores.
	failoverRate = 40
	// failoverDelay is how long nobody notices that the primary is gone.
	failoverDelay = time.Second
)

// playStandbyPromoted kills the primary under load, promotes its synchronous standby, and looks for
// every acknowledged write and its event.
func playStandbyPromoted(ctx context.Context, p *play) (err error) {
	primary, err := p.cluster(ctx, cluster.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, primary.Close()) }()
	s, err := p.open(ctx, primary.URL(), p.folder, shape{stores: 3, keys: greedyKeys, products: 30, orders: 30, customers: 30})
	if err != nil {
		return err
	}
	standby, err := p.follow(ctx, primary, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, standby.Close()) }()
	defer func() { err = errors.Join(err, s.end()) }()
	r := receiver.Start(receiver.OK)
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := s.trust(r, p.folder); err != nil {
		return err
	}
	var hooks []receiver.Hook
	for n := range 2 {
		w, err := s.register(ctx, s.stores[n], r.URL(n))
		if err != nil {
			return err
		}
		hooks = append(hooks, receiver.Hook{Secret: w.Secret})
	}
	r.SetHooks(hooks)
	if err := errors.Join(s.serve(ctx), s.work(ctx, "--retry-delays="+retryDelays, "--timeout=2s")); err != nil {
		return err
	}
	return p.failover(ctx, s, r, primary, standby)
}

// follow makes the standby, on whose copy every commit waits, and gives the service both addresses.
func (p *play) follow(ctx context.Context, primary *cluster.Cluster, s *stage) (*cluster.Cluster, error) {
	standby, err := primary.Standby(ctx)
	if err != nil {
		return nil, fmt.Errorf("make a standby: %w", err)
	}
	address, err := url.Parse(s.db.url)
	if err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	query := address.Query()
	query.Set("host", "127.0.0.1,127.0.0.1")
	query.Set("port", strconv.Itoa(primary.Port())+","+strconv.Itoa(standby.Port()))
	query.Set("target_session_attrs", "read-write")
	address.RawQuery = query.Encode()
	s.url = address.String()
	err = s.sql(ctx, func(db *pgx.Conn) error {
		// Set on the primary after the copy was made, so that the standby waits for nobody once it is promoted.
		for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
			if _, err := db.Exec(ctx, statement); err != nil {
				return err
			}
		}
		for limit := time.Now().Add(readyTimeout); ; {
			var sync int
			if err := db.QueryRow(ctx, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&sync); err != nil || sync > 0 {
				return err
			}
			if time.Now().After(limit) {
				return errors.New("the standby does not follow synchronously")
			}
			if err := wait(ctx, settlePause); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	s.db.url = "postgres://postgres@127.0.0.1:" + strconv.Itoa(standby.Port()) + address.Path + "?sslmode=disable"
	return standby, nil
}

// failover kills the primary under load, promotes the standby, and draws the balance.
func (p *play) failover(ctx context.Context, s *stage, r *receiver.Receiver, primary, standby *cluster.Cluster) error {
	creators := []*openLoop{newCreator(s.api, failoverRate, s.stores[0], 0), newCreator(s.api, failoverRate, s.stores[1], 0)}
	bystander := newBystander(s.api, s.stores[2])
	quiet, err := bystander.watch(ctx, p.calm())
	if err != nil {
		return err
	}
	for _, c := range append(creators, bystander) {
		c.start(ctx)
	}
	err = wait(ctx, p.calm())
	killed := time.Now()
	if err == nil {
		err = errors.Join(primary.Crash(ctx), wait(ctx, failoverDelay))
	}
	promoting := time.Now()
	if err == nil {
		err = standby.Promote(ctx)
	}
	promoted := time.Now()
	if err == nil {
		err = wait(ctx, p.Span)
	}
	var calls []call
	for _, c := range creators {
		calls = append(calls, c.stop()...)
	}
	watched := bystander.stop()
	if err != nil {
		return err
	}
	p.bystander(quiet, watched)
	counts, reads := answers(calls, &p.wrong), answers(watched, &p.wrong)
	p.didf("%d writes acknowledged and %d refused with 503, %d reads served and %d refused; promoted %s after the kill in %s",
		counts[served], counts[refused], reads[served], reads[refused], short(promoting.Sub(killed)), short(promoted.Sub(promoting)))
	written := recoveredWrites(calls, killed, promoted)
	p.mustFast(written <= recoveryBound, "writes succeed within %s of the promotion (%s, %s after the kill)",
		recoveryBound, short(written), short(promoted.Add(written).Sub(killed)))
	return p.found(ctx, s, r, calls)
}

// recoveredWrites is how long after the promotion the first write was acknowledged that was sent
// after the kill.
func recoveredWrites(calls []call, killed, promoted time.Time) time.Duration {
	first := time.Hour
	for _, c := range calls {
		if c.due.After(killed) && c.verdict == served && c.ended().After(promoted) {
			first = min(first, c.ended().Sub(promoted))
		}
	}
	return first
}

// found looks for what was acknowledged: in the database, and at the receiver.
func (p *play) found(ctx context.Context, s *stage, r *receiver.Receiver, calls []call) (err error) {
	database, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	events, err := eventsOf(ctx, database)
	if err != nil {
		return err
	}
	there := map[uuid.UUID]bool{}
	for row := range db.Rows(ctx, database.Reader(), "SELECT id FROM customers") {
		var id uuid.UUID
		if err := row.Scan(&id); err != nil {
			return err
		}
		there[id] = true
	}
	expected := 0
	for _, c := range calls {
		switch {
		case c.verdict != served:
		case !there[c.made]:
			p.lost.add("acknowledged write", 1)
		case events[c.made] == uuid.Nil:
			p.lost.add("event of an acknowledged write", 1)
		default:
			expected++
		}
	}
	return p.received(ctx, r, events)
}

// received waits until every event has arrived, and counts those that do not.
func (p *play) received(ctx context.Context, r *receiver.Receiver, events map[uuid.UUID]uuid.UUID) error {
	for limit := time.Now().Add(cancelledLimit); ; {
		arrived := map[uuid.UUID]int{}
		for _, request := range r.Requests() {
			arrived[request.Event]++
		}
		missing, twice := 0, 0
		for _, event := range events {
			switch n := arrived[event]; {
			case n == 0:
				missing++
			case n > 1:
				twice++
			}
		}
		if missing == 0 || time.Now().After(limit) {
			p.lost.add("event committed and never received", missing)
			p.didf("%d events committed, %d received; %d of them more than once, as an attempt in flight at the kill may be", len(events), len(events)-missing, twice)
			return nil
		}
		if err := wait(ctx, settlePause); err != nil {
			return err
		}
	}
}
