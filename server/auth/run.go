package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.storefront.example/server/limit"
)

// How often the data in memory is written, and how long one write may take.
const (
	flushEvery   = 30 * time.Second
	countsEvery  = 5 * time.Second // more often: a server that is killed forgets what it counted since
	flushTimeout = 5 * time.Second
	batchSize    = 1000 // rows of one statement
)

// Run writes the counters that are held in memory every five seconds and the last use of keys every half
// a minute until ctx ends, and then both once more. It returns the error of that last write; earlier
// errors are logged and the write is repeated.
func (g *Gate) Run(ctx context.Context) error {
	ticker, counts := time.NewTicker(flushEvery), time.NewTicker(countsEvery)
	defer ticker.Stop()
	defer counts.Stop()
	for {
		write := g.Flush
		select {
		case <-ctx.Done():
			return g.Flush(context.WithoutCancel(ctx))
		case <-ticker.C:
		case <-counts.C:
			write = g.flushCounts
		}
		if err := write(ctx); err != nil && ctx.Err() == nil {
			g.log.LogAttrs(ctx, slog.LevelWarn, "write what the gate counted", slog.Any("error", err))
		}
	}
}

// Flush writes everything that the gate holds in memory and removes the clients' counters of past
// minutes. What it cannot write within five seconds stays for the next time. Goroutines may call it
// at once, and while requests are admitted.
func (g *Gate) Flush(ctx context.Context) error {
	return errors.Join(g.flushCounts(ctx), g.flushUses(ctx), g.sweep(ctx))
}

// flushCounts writes the counters that are held in memory.
func (g *Gate) flushCounts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	g.flushing.Lock()
	defer g.flushing.Unlock()
	if err := g.keyStore.writeCounts(ctx); err != nil {
		return fmt.Errorf("write the counters of keys: %w", err)
	}
	return nil
}

// flushUses writes the last uses noted since the previous flush.
func (g *Gate) flushUses(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	g.flushing.Lock()
	defer g.flushing.Unlock()
	list := g.uses.take()
	for len(list) > 0 {
		batch := list[:min(batchSize, len(list))]
		if err := g.keyStore.writeUses(ctx, batch); err != nil {
			g.uses.put(list...)
			return fmt.Errorf("write last use of keys: %w", err)
		}
		list = list[len(batch):]
	}
	return nil
}

// sweep removes the clients' counters of past minutes, once a minute.
func (g *Gate) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	g.flushing.Lock()
	defer g.flushing.Unlock()
	minute := limit.Minute(g.clock.now())
	if minute == g.swept {
		return nil
	}
	if err := g.keyStore.sweep(ctx, g.clock.fixed()); err != nil {
		return fmt.Errorf("remove the counters of past minutes: %w", err)
	}
	g.swept = minute
	return nil
}
