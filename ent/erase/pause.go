package erase

import (
	"context"
	"time"
)

const (
	// The pause is pauseFactor times as long as the transaction, from minPause to maxPause, so that writers of other stores
	// never wait for long.
	pauseFactor = 4
	minPause    = 5 * time.Millisecond
	maxPause    = time.Second
)

// pauseAfter pauses after a transaction that began at began.
func pauseAfter(ctx context.Context, began time.Time) error {
	return wait(ctx, min(max(minPause, pauseFactor*time.Since(began)), maxPause))
}

// wait returns the context's error if that ends first.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
