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
	"go.storefront.example/server/ratelimit"
)

// statusOpen is the only status of a store whose keys are taken (specification, Store).
const statusOpen = "open"

// Options are what a Gate can be told. The zero value is right for a server.
type Options struct {
	// Clock replaces the clock that minutes and expiry are judged by. Nil means the database's own
	// on PostgreSQL, the same for every server whatever their clocks say, and the store's on SQLite.
	Clock func() time.Time
	// Log takes what Run could not write; nil means slog.Default.
	Log *slog.Logger
}

// Gate admits requests. Goroutines may share it; several gates, in as many processes, may work on
// one database, and count together.
type Gate struct {
	asker   asker
	clock   clock
	log     *slog.Logger
	blocked blocked
	uses    uses

	// flushing keeps flushes apart and guards swept.
	flushing sync.Mutex
	swept    int64 // the minute in which past address counters were last removed
}

// NewGate returns a gate on the store's keys and counters. Whoever makes one runs Run beside it.
func NewGate(s *db.DB, o Options) *Gate {
	g := &Gate{asker: newAsker(s), log: o.Log}
	if g.log == nil {
		g.log = slog.Default()
	}
	g.clock.init(s, o.Clock)
	return g
}

// Admit tells who makes a request, from the values of its Authorization header and its client's
// address, and counts it. It takes one round trip to the database: none when the header is missing
// or the client known to be beyond its limit, two for an unknown key that is well-formed.
//
// The error is a *refusal.Refusal, of api_key_missing, api_key_invalid, api_key_revoked,
// api_key_expired, rate_limited and store_unavailable, or a failure of the database. The Rate is
// always set, and the Principal whenever the key is known, also beside a refusal. No error tells
// the key. An IPv6 address is counted for its /64. An address that is not valid is an address like
// any other: requests without one share its limit.
func (g *Gate) Admit(ctx context.Context, authorization []string, address netip.Addr) (Principal, ratelimit.Rate, error) {
	client := ratelimit.ClientOf(address)
	now := g.clock.now()
	if g.blocked.has(client, ratelimit.Minute(now)) {
		return addressBlocked(now)
	}
	key, err := bearer(authorization)
	if err != nil {
		return Principal{}, ratelimit.Free(now), err
	}
	found, err := g.lookUp(ctx, key, client)
	if err != nil {
		return Principal{}, ratelimit.Free(now), fmt.Errorf("look up the api key: %w", err)
	}
	switch {
	case !found.known && ratelimit.TooManyUnknown(found.unknown):
		return addressBlocked(found.now)
	case !found.known:
		return keyInvalid(found.now)
	}
	return g.judge(found)
}

// lookUp asks the database for the key, or, since no key is malformed, has it count one that is. It
// remembers what it learns of the client and the time.
func (g *Gate) lookUp(ctx context.Context, key string, client ratelimit.Client) (finding, error) {
	q := question{fingerprint: Fingerprint(key), client: client.String(), now: g.clock.fixed()}
	ask := g.asker.ask
	if !WellFormed(key) {
		ask = g.asker.count
	}
	sent := time.Now()
	found, err := ask(ctx, q)
	if err != nil {
		return finding{}, err
	}
	g.clock.learn(found.now, sent, time.Now())
	if !found.known && ratelimit.TooManyUnknown(found.unknown) {
		g.blocked.add(client, ratelimit.Minute(found.now))
	}
	return found, nil
}

// judge decides on a request with a known key, which is counted already.
func (g *Gate) judge(found finding) (Principal, ratelimit.Rate, error) {
	p, rate := found.principal, ratelimit.Counted(found.count, found.now)
	// What is wrong with the key for good comes before what waiting helps against.
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
			ratelimit.RequestsPerMinute))
	case p.Store.Status != statusOpen:
		return p, rate, apierr.New(apierr.StoreUnavailable,
			"The store is "+p.Store.Status+". Its keys are refused while it stays so.")
	}
	return p, rate, nil
}

// addressBlocked refuses an address that presented too many unknown keys in this minute.
func addressBlocked(now time.Time) (Principal, ratelimit.Rate, error) {
	return Principal{}, ratelimit.Blocked(now), apierr.New(apierr.RateLimited, fmt.Sprintf(
		"More than %d requests with an unknown API key came from this address in this minute. "+
			"Check the key, wait as long as Retry-After says, then try again.", ratelimit.UnknownKeysPerMinute))
}

// keyInvalid refuses a key that does not exist. It does not say whether the key is malformed:
// that tells a thief nothing, and the owner what to do is the same.
func keyInvalid(now time.Time) (Principal, ratelimit.Rate, error) {
	return Principal{}, ratelimit.Free(now), apierr.New(apierr.APIKeyInvalid,
		"The API key does not exist. Check that the whole key was copied, or create a new one.")
}
