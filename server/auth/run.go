package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.storefront.example/server/ratelimit"
)

// How often what is held in memory is written, and how long one such write may take.
const (
	addressEvery = time.Second
	flushEvery   = 30 * time.Second
	flushTimeout = 5 * time.Second
	batchSize    = 1000 // rows of one statement
)

// Run writes what the gate holds in memory, now and then, until ctx ends, and then once more: the
// malformed keys of addresses every second, so that all servers see them, and the last use of keys
// every half a minute. It returns the error of the last write alone; what could not be written
// before is logged and tried again.
func (g *Gate) Run(ctx context.Context) error {
	often, rarely := time.NewTicker(addressEvery), time.NewTicker(flushEvery)
	defer often.Stop()
	defer rarely.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return g.Flush(context.WithoutCancel(ctx))
		case <-often.C:
			err = g.flushAddresses(ctx)
		case <-rarely.C:
			err = g.Flush(ctx)
		}
		if err != nil && ctx.Err() == nil {
			g.log.LogAttrs(ctx, slog.LevelWarn, "write what the gate counted", slog.Any("error", err))
		}
	}
}

// Flush writes everything that the gate holds in memory and removes the address counters of past
// minutes. What cannot be written within five seconds is kept for the next time. Goroutines may
// call it at once, and while requests are admitted.
func (g *Gate) Flush(ctx context.Context) error {
	return errors.Join(g.flushAddresses(ctx), g.flushUses(ctx), g.sweep(ctx))
}

// flushAddresses tells the database of the malformed keys, and learns what other servers counted
// for the same addresses.
func (g *Gate) flushAddresses(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	g.settling.Lock()
	defer g.settling.Unlock()
	deltas := g.addresses.take(ratelimit.Minute(g.clock.now()))
	stored := make(map[string]int, len(deltas))
	defer func() { g.addresses.settle(deltas, stored) }()
	for batch := range slices.Chunk(deltas, batchSize) {
		if err := g.asker.addUnknown(ctx, batch, stored); err != nil {
			return fmt.Errorf("write unknown keys by address: %w", err)
		}
	}
	return nil
}

// flushUses writes the last use of each key that was used since the last time.
func (g *Gate) flushUses(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	g.flushing.Lock()
	defer g.flushing.Unlock()
	list := g.uses.take()
	for len(list) > 0 {
		batch := list[:min(batchSize, len(list))]
		if err := g.asker.writeUses(ctx, batch); err != nil {
			g.uses.put(list...)
			return fmt.Errorf("write last use of keys: %w", err)
		}
		list = list[len(batch):]
	}
	return nil
}

// sweep removes the address counters of past minutes, once a minute.
func (g *Gate) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	g.flushing.Lock()
	defer g.flushing.Unlock()
	minute := ratelimit.Minute(g.clock.now())
	if minute == g.swept {
		return nil
	}
	if err := g.asker.sweep(ctx, g.clock.fixed()); err != nil {
		return fmt.Errorf("remove past address counters: %w", err)
	}
	g.swept = minute
	return nil
}
