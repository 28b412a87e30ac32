package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// bench measures operations on both sides in turns.
type bench struct {
	command  *apiCommand
	db       *database
	sides    []*side // the service, then the yardstick
	workload *workload
	progress func(format string, args ...any)
}

// round is what one side did in one round.
type round struct {
	took        time.Duration
	latencies   []time.Duration // of each request, in no order
	serverCPU   time.Duration   // of the process that serves
	databaseCPU time.Duration   // of the database's own processes
	measuredCPU bool            // false where the system does not tell
}

// rate is requests in a second.
func (r round) rate() float64 { return float64(len(r.latencies)) / r.took.Seconds() }

// warmUp is how long each side is asked before the first round of an operation: statements are
// prepared, caches filled and connections opened by then.
const warmUp = 500 * time.Millisecond

// measure runs all rounds of an operation: rounds[i] are those of sides[i], in their order.
func (b *bench) measure(ctx context.Context, o operation) (rounds [2][]round, err error) {
	length := time.Duration(b.command.Seconds * float64(time.Second))
	for _, s := range b.sides {
		if _, err := b.round(ctx, s, o, min(warmUp, length)); err != nil {
			return rounds, fmt.Errorf("warm up the %s: %w", s.kind, err)
		}
	}
	for n := range b.command.Rounds {
		// The side that begins changes, or a machine that slows down would favour one.
		for turn := range b.sides {
			i := (n + turn) % len(b.sides)
			r, err := b.round(ctx, b.sides[i], o, length)
			if err != nil {
				return rounds, fmt.Errorf("measure the %s: %w", b.sides[i].kind, err)
			}
			rounds[i] = append(rounds[i], r)
		}
		b.progress("%s %d/%d: %.0f requests/s, yardstick %.0f, ratio %.2f", o.name, n+1, b.command.Rounds,
			rounds[0][n].rate(), rounds[1][n].rate(), rounds[0][n].rate()/rounds[1][n].rate())
	}
	return rounds, nil
}

func (b *bench) round(ctx context.Context, s *side, o operation, length time.Duration) (round, error) {
	random := make([]*rand.Rand, b.command.Connections)
	for i := range random {
		random[i] = newRandom(i)
	}
	return s.round(ctx, b.db, closedLoop{
		address: s.address, clients: b.command.Connections, strict: true,
		next: func(client int) request { return b.workload.next(o, random[client]) },
	}, length)
}

// round asks a side for a time and measures what that costs it and the database.
func (s *side) round(ctx context.Context, db *database, load closedLoop, length time.Duration) (round, error) {
	server, serverErr := s.cpu()
	database, databaseErr := db.cpu()
	calls, took, err := load.run(ctx, length)
	if err != nil {
		return round{}, err
	}
	r := round{took: took, latencies: latencies(calls), measuredCPU: serverErr == nil && databaseErr == nil}
	if r.measuredCPU {
		serverAfter, serverErr := s.cpu()
		databaseAfter, databaseErr := db.cpu()
		r.serverCPU, r.databaseCPU = serverAfter-server, databaseAfter-database
		r.measuredCPU = serverErr == nil && databaseErr == nil
	}
	return r, nil
}

// profile runs one more round on each side under the CPU profiler; it counts for nothing else.
func (b *bench) profile(ctx context.Context, o operation) error {
	if err := os.MkdirAll(b.command.Profile, 0o755); err != nil {
		return err
	}
	for _, s := range b.sides {
		path := filepath.Join(b.command.Profile, o.name+"."+s.kind+".pprof")
		length := time.Duration(b.command.Seconds * float64(time.Second))
		group, within := errgroup.WithContext(ctx)
		group.Go(func() error { return s.profile(within, path, length) })
		group.Go(func() error {
			_, err := b.round(within, s, o, length)
			return err
		})
		if err := group.Wait(); err != nil {
			return err
		}
		b.progress("wrote %s", path)
	}
	return nil
}
