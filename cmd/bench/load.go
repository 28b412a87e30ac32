package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// load is what was asked and answered within a time.
type load struct {
	took      time.Duration
	latencies []time.Duration // of each request, in no order
}

// rate is requests in a second.
func (l load) rate() float64 { return float64(len(l.latencies)) / l.took.Seconds() }

// drive asks through a number of connections, each waiting for one answer before it asks again,
// until the time is over. It fails on the first answer that is not a success.
func drive(ctx context.Context, address string, connections int, length time.Duration, write func(*writer)) (load, error) {
	clients := make([]*client, connections)
	for i := range clients {
		c, err := dial(ctx, address)
		if err != nil {
			return load{}, err
		}
		defer c.close()
		clients[i] = c
	}
	group, ctx := errgroup.WithContext(ctx)
	latencies := make([][]time.Duration, connections)
	start := time.Now()
	end := start.Add(length)
	for i, c := range clients {
		group.Go(func() error {
			w := newWriter(uint64(i)) //nolint:gosec // A number of connections.
			for now := time.Now(); now.Before(end) && ctx.Err() == nil; {
				write(w)
				status, body, err := c.do(w.text)
				if err != nil {
					return err
				}
				if status < 200 || status > 299 {
					return fmt.Errorf("answered %d: %s", status, body)
				}
				answered := time.Now()
				latencies[i] = append(latencies[i], answered.Sub(now))
				now = answered
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return load{}, err
	}
	return load{time.Since(start), slices.Concat(latencies...)}, nil
}

// percentile returns the value that p per cent of the sorted ones do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*p/100]
}
