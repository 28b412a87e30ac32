package erase

import (
	"context"
	"time"
)

const (
	// The pause after a transaction is pauseFactor times as long as the transaction, but at least minPause and at most
	// maxPause. So writers of other stores never wait for long.
	pauseFactor = 4
	minPause    = 5 * time.Millisecond
	maxPause    = time.Second
)

// pauseAfter pauses after a transaction, so that other writers can use the database. began is the time at which the transaction
// began.
func pauseAfter(ctx context.Context, began time.Time) error {
	return wait(ctx, min(max(minPause, pauseFactor*time.Since(began)), maxPause))
}

// wait waits for d, or returns the context's error if that ends first.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
