package auth

import (
	"context"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/limit"
)

const (
	// insertTimeout is how long a statement for several keys waits for a session that is inserting one of their counters.
	insertTimeout = "25ms"
	// turnTimeout is how long a statement waits for one counter before another key has its turn.
	turnTimeout = "250ms"
)

// findCountingInDatabase looks up keys and counts their requests with one statement, as if they had come one after the other.
// The result is zero for an unknown key and a client over its limit, and the count is 0 if another session has locked the
// counter. It fails with errHeld if one is inserting it.
func (g *Gate) findCountingInDatabase(ctx context.Context, lookups []lookup) ([]lookupResult, error) {
	return g.findCounting(ctx, "known", insertTimeout, lookups)
}

// waitCountingInDatabase does the same for one key, and waits for its counter. It fails with errHeld after turnTimeout.
func (g *Gate) waitCountingInDatabase(ctx context.Context, lookups []lookup) ([]lookupResult, error) {
	return g.findCounting(ctx, "known, waiting", turnTimeout, lookups)
}

func (g *Gate) findCounting(ctx context.Context, statement string, lockTimeout string, lookups []lookup) ([]lookupResult, error) {
	fingerprints, clients := make(pq.ByteaArray, len(lookups)), make(pq.StringArray, len(lookups))
	for i, q := range lookups {
		fingerprints[i], clients[i] = q.fingerprint[:], q.client
	}
	found := make([]lookupResult, len(lookups))
	for row := range db.Rows(ctx, g.writer, g.statements[statement], fingerprints, clients, lookups[0].timeArg,
		limit.UnknownKeysPerMinute, lockTimeout) {
		var result lookupResult
		position, err := result.scan(row)
		if err != nil {
			return nil, held(err)
		}
		found[position-1] = result
	}
	for i := range found {
		for _, later := range found[i+1:] {
			if found[i].count > 0 && later.principal.KeyID == found[i].principal.KeyID {
				found[i].count-- // the statement returned the count after the whole batch
			}
		}
	}
	return found, nil
}

// held returns errHeld if a statement waited too long for a lock, and err otherwise.
func held(err error) error {
	if pq.As(err, pqerror.LockNotAvailable) != nil {
		return errHeld
	}
	return err
}
