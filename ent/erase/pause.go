package erase

import (
	"context"
	"time"
)

const (
	// The pause after a transaction is restFactor times as long as the transaction, but at least restLeast and at most
	// restMost. So writers of other stores never wait for long.
	restFactor = 4
	restLeast  = 5 * time.Millisecond
	restMost   = time.Second
)

// rest pauses after a transaction, so that other writers can use the database. began is the time at which the transaction
// began.
func rest(ctx context.Context, began time.Time) error {
	return wait(ctx, min(max(restLeast, restFactor*time.Since(began)), restMost))
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
