package erase

import (
	"context"
	"time"
)

const (
	// restFactor is for how many times as long as a transaction took the others have the database before the next one, so that
	// no writer of another store waits for long; restLeast and restMost bound that time.
	restFactor = 4
	restLeast  = 5 * time.Millisecond
	restMost   = time.Second
)

// rest leaves the database to others after a transaction that began at a time.
func rest(ctx context.Context, began time.Time) error {
	return wait(ctx, min(max(restLeast, restFactor*time.Since(began)), restMost))
}

// wait waits, or returns the error of a context that ends meanwhile.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
