package auth

import (
	"context"
	"time"
)

// FlushEvery sets the time between two flushes of Run.
func (g *Gate) FlushEvery(d time.Duration) { g.flushEvery = d }

// Miss makes that many lookups of known keys find no key.
func (g *Gate) Miss(lookups int) {
	known := g.findKey
	g.findKey = func(ctx context.Context, q lookup) (lookupResult, error) {
		if lookups--; lookups >= 0 {
			return lookupResult{}, nil
		}
		return known(ctx, q)
	}
}
