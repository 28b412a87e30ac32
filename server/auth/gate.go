package auth

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/limit"
)

// statusOpen is the only status of a store whose keys are accepted (specification, Store).
const statusOpen = "open"

// Options are the settings of a Gate. The zero value is right for a server.
type Options struct {
	// Clock replaces the clock for minutes and expiry. Nil means the database's own clock on
	// PostgreSQL, which all servers share, and the store's on SQLite.
	Clock func() time.Time
	// Log receives the write errors of Run; nil means slog.Default.
	Log *slog.Logger
}

// Gate admits requests. Goroutines may share it. Several gates, in several processes, may use one
// database, and count together.
type Gate struct {
	keyStore keyStore
	batches  batches
	clock    clock
	log      *slog.Logger
	blocked  blocked
	uses     uses

	// flushing serialises flushes and guards swept.
	flushing sync.Mutex
	swept    int64 // the minute in which past address counters were last removed
}

// NewGate returns a gate on the store's keys and counters. The caller must also run Run.
func NewGate(s *db.DB, o Options) *Gate {
	g := &Gate{keyStore: newKeyStore(s), log: o.Log}
	if g.log == nil {
		g.log = slog.Default()
	}
	g.clock.init(s, o.Clock)
	g.batches = batches{alone: g.keyStore, most: max(s.Admissions().Stats().MaxOpenConnections, 1)}
	if shared, ok := g.keyStore.(postgresKeys); ok {
		g.batches.all = shared.findAll
	}
	return g
}

// Admit identifies the caller of a request from the values of its Authorization header and its
// client's address, and counts the request. It makes one round trip to the database, which requests that
// arrive together share. It makes none if the header is missing or memory holds the client as beyond its
// limit, and two for an unknown but well-formed key that shares none.
//
// The error is an *apierr.Refusal (api_key_missing, api_key_invalid, api_key_revoked,
// api_key_expired, rate_limited or store_unavailable), or a failure of the database. The Rate is
// always set. The Principal is set whenever the key exists, also with a refusal. No error contains
// the key. An IPv6 address counts for its /64. All requests with an invalid address share one
// limit.
func (g *Gate) Admit(ctx context.Context, authorization []string, address netip.Addr) (Principal, limit.Rate, error) {
	client := limit.ClientOf(address)
	now := g.clock.now()
	if g.blocked.has(client, limit.Minute(now)) {
		return addressBlocked(now)
	}
	key, err := bearer(authorization)
	if err != nil {
		return Principal{}, limit.Uncounted(now), err
	}
	found, err := g.lookUp(ctx, key, client)
	if err != nil {
		return Principal{}, limit.Uncounted(now), fmt.Errorf("look up the api key: %w", err)
	}
	switch {
	case !found.known && limit.TooManyUnknown(found.unknown):
		return addressBlocked(found.now)
	case !found.known:
		return keyInvalid(found.now)
	}
	return g.decideKnown(found)
}

// lookUp queries the key and counts the request. It updates the clock and the blocked clients from the
// answer.
func (g *Gate) lookUp(ctx context.Context, key string, client limit.Client) (result, error) {
	q := lookup{fingerprint: Fingerprint(key), malformed: !WellFormed(key), client: client.String(), now: g.clock.fixed()}
	sent := time.Now()
	found, err := g.batches.find(ctx, q)
	if err != nil {
		return result{}, err
	}
	g.clock.learn(found.now, sent, time.Now())
	if !found.known && limit.TooManyUnknown(found.unknown) {
		g.blocked.add(client, limit.Minute(found.now))
	}
	return found, nil
}

// decideKnown decides on a request with a known key, which is counted already.
func (g *Gate) decideKnown(found result) (Principal, limit.Rate, error) {
	p, rate := found.principal, limit.Counted(found.count, found.now)
	// A revoked or expired key is refused as such even beyond the limit: waiting would not help.
	limited := rate.Limited
	rate.Limited = false
	switch {
	case found.revoked:
		return p, rate, apierr.New(apierr.APIKeyRevoked, "The API key was revoked. Use another key of the store.")
	case found.expired:
		return p, rate, apierr.New(apierr.APIKeyExpired, "The API key is past its expiry date. Create a new key and use that.")
	}
	g.uses.note(p.KeyID, found.now)
	switch {
	case limited:
		rate.Limited = true
		return p, rate, apierr.New(apierr.RateLimited, fmt.Sprintf(
			"The API key made more than %d requests in this minute. Wait as long as Retry-After says, then try again.",
			limit.RequestsPerMinute))
	case p.Store.Status != statusOpen:
		return p, rate, apierr.New(apierr.StoreUnavailable,
			"The store is "+p.Store.Status+". Its keys are refused while it stays so.")
	}
	return p, rate, nil
}

// addressBlocked refuses an address that presented too many unknown keys in this minute.
func addressBlocked(now time.Time) (Principal, limit.Rate, error) {
	return Principal{}, limit.Blocked(now), apierr.New(apierr.RateLimited, fmt.Sprintf(
		"More than %d requests with an unknown API key came from this address in this minute. "+
			"Check the key, wait as long as Retry-After says, then try again.", limit.UnknownKeysPerMinute))
}

// keyInvalid refuses a key that does not exist. It gives one answer for malformed and unknown keys:
// the owner has to do the same in both cases.
func keyInvalid(now time.Time) (Principal, limit.Rate, error) {
	return Principal{}, limit.Uncounted(now), apierr.New(apierr.APIKeyInvalid,
		"The API key does not exist. Check that the whole key was copied, or create a new one.")
}
