package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// deadLimit and cutLimit, for killed processes and cut links, are long enough for some requests to be late and some to be
	// refused.
	deadLimit, cutLimit = time.Second, historyTimeout + time.Second
	// calmLimit is the longest time between two faults.
	calmLimit = 2 * time.Second
)

// fault breaks something and repairs it.
type fault struct {
	name string
	// losesCounters is true if the service on PostgreSQL forgets how many requests keys have made. On SQLite it forgets the
	// last of these in every fault.
	losesCounters bool
	inject        func(h *history, random *rand.Rand)
}

var (
	killServer = fault{"server killed", false, func(h *history, random *rand.Rand) {
		servers := h.randomServers(random)
		for _, s := range servers {
			s.process.Load().kill()
		}
		h.wait(randomDuration(random, deadLimit))
		for _, s := range servers {
			h.require(s.start(h.ctx))
		}
	}}
	cutNetwork = fault{"network cut", false, func(h *history, random *rand.Rand) {
		var links []*link
		for _, s := range h.randomServers(random) {
			links = append(links, s.links...)
		}
		for _, l := range links {
			l.cut()
		}
		err := wait(h.ctx, randomDuration(random, cutLimit))
		for _, l := range links {
			l.join()
		}
		h.require(err)
	}}
	crashDatabase = fault{"primary crashed", true, func(h *history, random *rand.Rand) {
		h.require(h.nodes[h.primary].Crash(h.ctx))
		h.wait(randomDuration(random, deadLimit))
		h.require(h.nodes[h.primary].Restart(h.ctx))
		h.synchronous(h.stage.database.url) // commits must wait for the standby before the next fault
	}}
	failOver = fault{"standby promoted", true, func(h *history, random *rand.Rand) {
		h.require(h.nodes[h.primary].Close())
		h.wait(randomDuration(random, deadLimit))
		h.primary = 1 - h.primary
		h.require(h.nodes[h.primary].Promote(h.ctx))
		h.addStandby()
	}}
)

func randomDuration(random *rand.Rand, longest time.Duration) time.Duration {
	return time.Duration(random.Float64() * float64(longest))
}

func (h *history) randomServers(random *rand.Rand) []*endpoint {
	if n := random.IntN(len(h.servers) + 1); n < len(h.servers) {
		return h.servers[n : n+1]
	}
	return h.servers
}

// injectFaults causes one fault after the other until the context ends.
func (h *history) injectFaults(ctx context.Context) {
	random := rand.New(rand.NewPCG(h.seed, 7)) //nolint:gosec // These numbers are no secret.
	for len(h.faults) > 0 {
		for _, n := range random.Perm(len(h.faults)) {
			if wait(ctx, randomDuration(random, calmLimit)) != nil {
				return
			}
			f, from := h.faults[n], time.Since(h.begun)
			f.inject(h, random)
			until := time.Since(h.begun)
			h.injected.add(f.name, 1)
			h.progress("%s, %s: %d requests, %d unknown", roundDuration(until), f.name, h.requests.Load(), h.unknown.Load())
			if f.losesCounters || h.sqlite {
				lost := question{request: request{method: lostCounters}}
				h.resets = append(h.resets, porcupine.Operation{Input: lost, Output: &answer{}, Call: int64(from), Return: int64(until)})
			}
		}
	}
}

// addStandby makes a standby for which the primary's commits wait, and directs each server's links to the two nodes.
func (h *history) addStandby() {
	standby, err := h.nodes[h.primary].Standby(h.ctx)
	h.require(err)
	h.cleanup(standby.Close)
	h.nodes[1-h.primary] = standby
	d := h.stage.database
	h.require(d.release(h.ctx)) // the first call closes the connection, because the faults delete its server; later calls do nothing
	d.url, err = withPorts(d.url, h.nodes[h.primary].Port())
	h.require(err)
	h.synchronous(d.url)
	for _, s := range h.servers {
		s.links[1-h.primary].setTarget(standby.Port())
	}
}

// endpoint is a server that is killed and restarted, with its own links to the database nodes.
type endpoint struct {
	stage      stage
	links      []*link
	process    atomic.Pointer[process]
	api, admin *client
}

func (h *history) newEndpoint() *endpoint {
	s := &endpoint{stage: *h.stage}
	if !h.sqlite {
		var ports []int
		for _, node := range h.nodes {
			l, err := newLink(node.Port())
			h.require(err)
			h.cleanup(l.close)
			s.links, ports = append(s.links, l), append(ports, l.port())
		}
		var err error
		s.stage.url, err = withPorts(h.stage.url, ports...)
		h.require(err)
	}
	h.require(s.start(h.ctx))
	h.cleanup(func() error {
		s.process.Load().kill() // an orderly stop may wait for a database that no longer exists
		return nil
	})
	s.api = newClient(func() string { return s.process.Load().api })
	s.admin = newClient(func() string { return s.process.Load().admin })
	return s
}

func (s *endpoint) start(ctx context.Context) error {
	p, err := s.stage.startServer(ctx, fmt.Sprintf("--request-timeout=%s", historyTimeout))
	if err == nil {
		s.process.Store(p)
	}
	return err
}
