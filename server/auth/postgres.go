package auth

import (
	"context"

	"github.com/lib/pq"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/limit"
)

// findCountingInDatabase looks up several keys and counts their requests with one statement. The results are the same as if
// the requests had come one after the other. If a key is unknown, or a client over its limit, findCountingInDatabase returns
// a zero result for the request and does not count it.
func (g *Gate) findCountingInDatabase(ctx context.Context, lookups []lookup) ([]lookupResult, error) {
	fingerprints, clients := make(pq.ByteaArray, len(lookups)), make(pq.StringArray, len(lookups))
	for i, q := range lookups {
		fingerprints[i], clients[i] = q.fingerprint[:], q.client
	}
	found := make([]lookupResult, len(lookups))
	for row := range db.Rows(ctx, g.writer, g.statements["known"], fingerprints, clients, lookups[0].timeArg,
		limit.UnknownKeysPerMinute) {
		var result lookupResult
		position, err := result.scan(row)
		if err != nil {
			return nil, err
		}
		found[position-1] = result
	}
	for i := range found {
		for _, later := range found[i+1:] {
			if found[i].known && later.principal.KeyID == found[i].principal.KeyID {
				found[i].count-- // the statement returned the count after the whole batch
			}
		}
	}
	return found, nil
}
