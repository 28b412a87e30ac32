package auth

import (
	"context"
	"time"
)

// FlushEvery sets how often Run flushes.
func (g *Gate) FlushEvery(d time.Duration) { g.flushEvery = d }

// Miss makes the first lookups of known keys find nothing, as when the minute ends during the lookup.
func (g *Gate) Miss(lookups int) {
	known := g.known
	g.known = func(ctx context.Context, q lookup) (lookupResult, error) {
		if lookups--; lookups >= 0 {
			return lookupResult{}, nil
		}
		return known(ctx, q)
	}
}
