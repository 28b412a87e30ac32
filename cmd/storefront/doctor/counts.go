package doctor

import (
	"context"
	"time"

	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
)

const (
	// sampledStores is how many stores' counts are compared with their rows.
	sampledStores = 5
	// compareTime bounds the comparing: ten million rows of one store take some seconds.
	compareTime = 20 * time.Second
)

// Counts compares the counts of some stores, chosen at random, with their rows.
func Counts(ctx context.Context, s *db.DB) Finding {
	const check = "counts"
	c := count.On(s)
	stores, err := c.Sample(ctx, sampledStores)
	if err != nil {
		return broken(check, err)
	}
	limited, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	for n, store := range stores {
		for _, kind := range count.Kinds() {
			wrong, err := c.Wrong(limited, store.ID, kind)
			switch {
			case limited.Err() != nil && ctx.Err() == nil:
				return ok(check, "of %s compared with their rows; more would take long", plural(n, "store"))
			case err != nil:
				return broken(check, err)
			case wrong > 0:
				return fail(check, "run `storefront migrate recount --store "+store.Slug+"`, or without --store for all stores",
					"%s of %s in the store %s: totals and pages of its lists are wrong too", plural(wrong, "wrong count"), kind, store.Slug)
			}
		}
	}
	return ok(check, "of %s compared with their rows", plural(len(stores), "store"))
}
