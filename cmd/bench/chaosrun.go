package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/db/dbtest/cluster"
)

const (
	// crashShare is the share of blows at which the database crashes too.
	crashShare = 0.3
	// deadTime is the longest that what was killed stays dead.
	deadTime = time.Second
	// calmTimeout bounds the wait until everything is delivered: leases, retries, and a slow machine.
	calmTimeout = 90 * time.Second
)

// chaosRun is the rounds of a run. What has been seen is kept from the first round to the last, and
// the balance is drawn over all of it.
type chaosRun struct {
	command  *chaosCommand
	fleet    *fleet
	cluster  *cluster.Cluster // nil on SQLite
	receiver *receiver.Receiver
	clients  *openLoop // create customers
	random   *rand.Rand
	name     string

	kills   []kill
	outages []outage
	without time.Time      // since when no worker or no database has been there; zero while they are
	killed  map[string]int // how often, by name
	last    balance
	created []uuid.UUID // customers, and acknowledged
}

func newChaosRun(c *chaosCommand, st *stage, server *cluster.Cluster, r *receiver.Receiver) *chaosRun {
	run := &chaosRun{
		command: c, cluster: server, receiver: r, fleet: &fleet{stage: st, timeout: c.Timeout, rate: c.Rate},
		random: rand.New(rand.NewPCG(c.Seed, 5)), //nolint:gosec // Nothing secret is made of it.
		name:   "PostgreSQL, fsync on", killed: map[string]int{},
	}
	if server == nil {
		run.name = "SQLite"
	}
	w := &workload{stores: st.stores}
	run.clients = &openLoop{address: run.fleet.serving, rate: c.Rate, next: func(n int) request {
		_, key := w.take()
		return request{"POST", "/v1/customers", key, newCustomerBody(int64(n))}
	}}
	return run
}

// acknowledge takes in what clients were answered. A server that is away or answers 5xx is nothing
// unusual; a refusal is a defect.
func (r *chaosRun) acknowledge(calls []call) error {
	for _, c := range calls {
		switch {
		case c.verdict == served && c.made == uuid.Nil:
			return errors.New("the server answered without the id of a new customer")
		case c.verdict == served:
			r.created = append(r.created, c.made)
		case strings.HasPrefix(c.what, "4"):
			return fmt.Errorf("the server answered %s", c.what)
		}
	}
	return nil
}

// round puts everything under load, strikes, waits until all is delivered, and draws the balance.
// It returns the round in a line.
func (r *chaosRun) round(ctx context.Context) (string, error) {
	before := r.last
	if err := r.fleet.raise(ctx); err != nil {
		return "", err
	}
	r.clients.start(ctx)
	hit, err := r.strike(ctx)
	line := "hit " + names(hit)
	if err = errors.Join(err, r.acknowledge(r.clients.stop()), r.fleet.rest()); err != nil {
		return line, err
	}
	calm := time.Now()
	if err := r.fleet.settle(ctx, calmTimeout); err != nil {
		return line, err
	}
	if err := r.fleet.alive(); err != nil {
		return line, err
	}
	b, err := r.balance(ctx)
	if err != nil {
		return line, err
	}
	r.last = b
	line += fmt.Sprintf("; %d events, %d requests, %d attempts cut short, %d duplicates, settled after %s; longest wait so far %s, %s of it with a worker",
		b.events-before.events, b.requests-before.requests, b.orphans-before.orphans, b.duplicates-before.duplicates,
		short(time.Since(calm)), short(b.longest), short(b.longestUp))
	if b.late > 0 || b.lost > 0 {
		line += fmt.Sprintf("; %d attempts so far came twice because a lease ran out, and workers report %d lost leases", b.late, b.lost)
	}
	return line, b.err()
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// strike deals some blows over the length of a round, and returns what was hit.
func (r *chaosRun) strike(ctx context.Context) (hit []string, err error) {
	blows := 1 + r.random.IntN(r.command.Blows)
	for range blows {
		if err := wait(ctx, time.Duration(r.random.Float64()*2*float64(r.command.Length)/float64(blows+1))); err != nil {
			return hit, err
		}
		if err := r.fleet.alive(); err != nil {
			return hit, err
		}
		names, err := r.blow(ctx)
		hit = append(hit, names...)
		if err != nil {
			return hit, err
		}
		if err := wait(ctx, time.Duration(r.random.Float64()*float64(deadTime))); err != nil {
			return hit, err
		}
		if err := r.fleet.raise(ctx); err != nil {
			return hit, err
		}
		r.there()
	}
	return hit, wait(ctx, r.command.Length/4)
}

// blow kills some parts, and maybe the database, which it starts again.
func (r *chaosRun) blow(ctx context.Context) ([]string, error) {
	var victims []int
	var hit, holders []string
	chosen := 1 + r.random.IntN(1<<partCount-1) // a part for each bit, at least one
	for part := range partCount {
		if chosen&(1<<part) != 0 {
			victims = append(victims, part)
			hit = append(hit, partNames[part])
			r.killed[partNames[part]]++
			if part == partWorkerA || part == partWorkerB {
				holders = append(holders, r.fleet.holder(part))
			}
		}
	}
	at := time.Now()
	r.fleet.kill(victims)
	r.kills = append(r.kills, kill{from: at, until: time.Now(), holders: holders})
	if !r.fleet.delivers() {
		r.gone(at)
	}
	if r.cluster == nil || r.random.Float64() >= crashShare {
		return hit, nil
	}
	hit = append(hit, "database")
	r.killed["database"]++
	at = time.Now()
	r.gone(at)
	if err := errors.Join(r.cluster.Crash(ctx), r.cluster.Restart(ctx)); err != nil {
		return hit, err
	}
	r.kills = append(r.kills, kill{from: at, until: time.Now(), database: true})
	if r.fleet.delivers() {
		r.there()
	}
	return hit, nil
}

// gone and there keep the outages: the times without a worker or a database.
func (r *chaosRun) gone(at time.Time) {
	if r.without.IsZero() {
		r.without = at
	}
}

func (r *chaosRun) there() {
	if !r.without.IsZero() {
		r.outages = append(r.outages, outage{r.without, time.Now()})
		r.without = time.Time{}
	}
}

// balance draws the balance of all that has been seen so far.
func (r *chaosRun) balance(ctx context.Context) (balance, error) {
	if _, err := r.receiver.Count(); err != nil {
		return balance{}, err
	}
	var err error
	l := ledger{
		customers: r.created, orders: r.fleet.acknowledged(), requests: r.receiver.Requests(), outages: r.outages,
		kills: r.kills, lost: int(r.fleet.lost.Load()),
	}
	if l.events, err = events(ctx, r.fleet.store, time.Time{}); err != nil {
		return balance{}, err
	}
	if l.journal, err = journal(ctx, r.fleet.store); err != nil {
		return balance{}, err
	}
	if l.leases, err = leases(ctx, r.fleet.store); err != nil {
		return balance{}, err
	}
	return l.settleUp(), nil
}

// strikes is how many parts have been killed, and how often the database has crashed.
func (r *chaosRun) strikes() int {
	sum := 0
	for _, n := range r.killed {
		sum += n
	}
	return sum
}

// summary is the whole run in a few lines.
func (r *chaosRun) summary() string {
	b := r.last
	return fmt.Sprintf(`committed %d events (%d customers and %d payments acknowledged), received all of them: 0 lost
%d kills: %d servers, %d workers, %d checkouts; the database crashed %d times
%d attempts cut short, every one made again, the longest after %s (%s of it with a worker and a database); %d duplicates
%d attempts came twice because a lease ran out; workers report %d lost leases`,
		b.events, len(r.created), len(r.fleet.acknowledged()),
		r.strikes(), r.killed[partNames[partServer]], r.killed[partNames[partWorkerA]]+r.killed[partNames[partWorkerB]], r.killed[partNames[partCheckout]], r.killed["database"],
		b.orphans, short(b.longest), short(b.longestUp), b.duplicates, b.late, b.lost)
}
