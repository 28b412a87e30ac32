package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/server/limit"
)

const (
	// flushEvery is what a killed server loses of the counts in memory.
	flushEvery   = 10 * time.Second
	flushTimeout = 5 * time.Second
)

// Run calls Flush every ten seconds until ctx ends, and once more, with the error of that call. It only logs earlier errors,
// because the next flush writes the same data.
func (g *Gate) Run(ctx context.Context) error {
	ticker := time.NewTicker(g.flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return g.Flush(context.WithoutCancel(ctx))
		case <-ticker.C:
		}
		if err := g.Flush(ctx); err != nil && ctx.Err() == nil {
			g.log.LogAttrs(ctx, slog.LevelWarn, "write what the gate counted", slog.Any("error", err))
		}
	}
}

// Flush writes the counters in memory and the last uses of keys, and deletes address counters of past minutes. It takes five
// seconds at most; the next call writes the rest. Goroutines may call it at once, and while requests are admitted.
func (g *Gate) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	g.flushing.Lock()
	defer g.flushing.Unlock()
	return errors.Join(g.flushCounts(ctx), g.flushUses(ctx), g.sweep(ctx))
}

func (g *Gate) flushCounts(ctx context.Context) error {
	minute, counts := g.counters.unwritten()
	if err := g.write(ctx, "counts", counts, minute); err != nil {
		g.counters.markUnwritten()
		return fmt.Errorf("write the counters of keys: %w", err)
	}
	return nil
}

func (g *Gate) flushUses(ctx context.Context) error {
	last := g.uses.drain()
	if err := g.write(ctx, "uses", last); err != nil {
		for key, at := range last {
			g.uses.record(key, at)
		}
		return fmt.Errorf("write last use of keys: %w", err)
	}
	return nil
}

// write's statement has a JSON object with a number for each key's id as its first parameter.
func (g *Gate) write(ctx context.Context, statement string, values map[uuid.UUID]int64, args ...any) error {
	if len(values) == 0 {
		return nil
	}
	text, err := json.Marshal(values)
	if err == nil {
		_, err = g.writer.ExecContext(ctx, g.statements[statement], append([]any{string(text)}, args...)...)
	}
	return err
}

// sweep deletes the address counters from before the previous minute, once a minute.
func (g *Gate) sweep(ctx context.Context) error {
	minute := limit.Minute(g.now())
	if minute == g.swept {
		return nil
	}
	if _, err := g.writer.ExecContext(ctx, g.statements["sweep"], g.timeArg()); err != nil {
		return fmt.Errorf("remove the counters of past minutes: %w", err)
	}
	g.swept = minute
	return nil
}
