package main

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/db/dbtest/cluster"
)

const (
	// failoverRate is how many customers are created a second in each of two stores.
	failoverRate = 40
	// failoverDelay is the time from the primary's death to the promotion of the standby.
	failoverDelay = time.Second
	// receivedLimit limits the wait until the receiver has every event.
	receivedLimit = 3 * time.Minute
)

// playStandbyPromoted kills the primary under load and promotes its synchronous standby. Every acknowledged write and its event
// must be there.
func playStandbyPromoted(p *play) {
	primary := p.cluster(cluster.Options{})
	standby, err := primary.Standby(p.ctx)
	p.require(err)
	p.cleanup(standby.Close)
	s := p.openOn(primary.URL(), shape{stores: 3})
	p.follow(s, primary, standby)
	p.require(s.subscribe(p.ctx, 2, receiver.OK, noneHangs))
	p.require(s.serve(p.ctx))
	p.require(s.startWorkers(p.ctx, 1, retryDelays, "--timeout=2s"))

	var written []call
	var killed, promoted time.Time
	read := p.watch(p.bystander(s), func() {
		written = p.underLoad(func() {
			p.wait(p.quietTime())
			killed = time.Now()
			p.require(primary.Crash(p.ctx))
			p.wait(failoverDelay)
			p.require(standby.Promote(p.ctx))
			promoted = time.Now()
			p.wait(p.Span)
		}, p.creator(s, 0, failoverRate), p.creator(s, 1, failoverRate))
	})
	p.logf("promoted %s after the kill; writes: %s", roundDuration(promoted.Sub(killed)), p.answerSummary(written))
	p.logf("reads: %s", p.answerSummary(read))
	first := time.Hour
	for _, c := range written {
		if c.due.After(killed) && c.verdict == served && c.ended().After(promoted) {
			first = min(first, c.ended().Sub(promoted))
		}
	}
	p.mustFast(first <= recoveryBound, "writes succeed within %s of the promotion (%s)", recoveryBound, roundDuration(first))
	p.checkEveryDelivery(s, p.checkEveryEvent(s, written))
}

// follow makes the primary's commits wait for the standby, and tells the service both addresses.
func (p *play) follow(s *stage, primary, standby *cluster.Cluster) {
	p.require(s.database.release(p.ctx)) // its server will be deleted
	var err, standbyErr error
	s.url, err = withPorts(s.url, primary.Port(), standby.Port())
	p.synchronous(s.database.url)
	s.database.url, standbyErr = withPorts(s.database.url, standby.Port())
	p.require(errors.Join(err, standbyErr))
}

// withPorts sets this machine as the host and the ports. Of several, the driver takes the server that accepts writes.
func withPorts(databaseURL string, ports ...int) (string, error) {
	address, err := url.Parse(databaseURL)
	if err != nil {
		return "", err
	}
	address.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	if query := address.Query(); len(ports) > 1 {
		hosts, numbers := make([]string, len(ports)), make([]string, len(ports))
		for i, port := range ports {
			hosts[i], numbers[i] = "127.0.0.1", strconv.Itoa(port)
		}
		query.Set("host", strings.Join(hosts, ","))
		query.Set("port", strings.Join(numbers, ","))
		query.Set("target_session_attrs", "read-write")
		address.RawQuery = query.Encode()
	}
	return address.String(), nil
}

// synchronous makes every commit of a server wait for its standby.
func (p *play) synchronous(primary string) {
	db, err := pgx.Connect(p.ctx, primary)
	p.require(err)
	// A standby that was copied with this setting would, once promoted, wait for another.
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		_, err := db.Exec(p.ctx, statement)
		p.require(err)
	}
	follows, err := poll(p.ctx, readyTimeout, func() (follows bool, err error) {
		err = db.QueryRow(p.ctx, "SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync')").Scan(&follows)
		return follows, err
	})
	if !follows && err == nil {
		err = errors.New("the standby does not follow synchronously")
	}
	p.require(errors.Join(err, db.Close(p.ctx)))
}

// checkEveryDelivery waits for every event, for at most receivedLimit, and counts the missing ones as lost.
func (p *play) checkEveryDelivery(s *stage, events map[uuid.UUID]uuid.UUID) {
	missing, twice := 0, 0
	_, err := poll(p.ctx, receivedLimit, func() (bool, error) {
		arrived := map[uuid.UUID]int{}
		for _, request := range s.receiver.Requests() {
			arrived[request.Event]++
		}
		missing, twice = 0, 0
		for _, event := range events {
			switch n := arrived[event]; {
			case n == 0:
				missing++
			case n > 1:
				twice++
			}
		}
		return missing == 0, nil
	})
	p.require(err)
	p.lost.add("event committed and never received", missing)
	p.logf("%d events committed, %d received; %d of them more than once, as an attempt in flight at the kill may be",
		len(events), len(events)-missing, twice)
}
