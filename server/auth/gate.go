package auth

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/limit"
)

// statusOpen is the only status in which a store's keys are accepted (specification, Store).
const statusOpen = "open"

// maxBlocked bounds how many blocked clients are held in memory, some 100 bytes each. Requests of further blocked clients ask
// the database.
const maxBlocked = 1 << 16

// Options are the settings of a Gate. The zero value is right for a server.
type Options struct {
	// Clock replaces the database's clock for minutes and expiry.
	Clock func() time.Time
	// Log receives the write errors of Run; nil means slog.Default.
	Log *slog.Logger
}

// Gate admits requests. Goroutines may share it. Several gates, in several processes, may use one
// database, and count together.
type Gate struct {
	db         *db.DB
	writer     *sql.DB // counts unknown keys, and writes the counts held in memory
	statements map[string]string
	// known looks up a key and counts its request if it knows the key.
	known    func(context.Context, lookup) (lookupResult, error)
	clock    func() time.Time
	log      *slog.Logger
	counters counters
	uses     uses
	// blocked maps each client that made too many requests with unknown keys to the minute in which it did. Blocked clients
	// cause no further queries in that minute.
	blocked *lru.Cache[netip.Prefix, int64]

	flushEvery time.Duration
	flushing   sync.Mutex // serialises flushes, guards swept
	swept      int64      // the minute in which address counters were last swept
}

// NewGate returns a gate for a database's keys and counters. The caller must also call Run.
func NewGate(d *db.DB, o Options) *Gate {
	blocked, _ := lru.New[netip.Prefix, int64](maxBlocked) // lru.New fails only for a size below 1
	g := &Gate{log: cmp.Or(o.Log, slog.Default()), clock: o.Clock, blocked: blocked, flushEvery: flushEvery}
	g.useDatabase(d)
	return g
}

// now returns the time without a query.
func (g *Gate) now() time.Time {
	if g.clock != nil {
		return g.clock().UTC()
	}
	return g.db.Now()
}

// timeArg returns the time argument of a statement, or nil for the database's clock.
func (g *Gate) timeArg() any {
	if g.clock != nil {
		return g.now()
	}
	return g.db.TimeArg()
}

// Admit identifies the caller of a request from the values of its Authorization header and its client's address, and counts the
// request. It makes at most two round trips to the database, in most cases one, which requests that arrive together share. It
// makes none if the header is missing or the client is blocked in memory.
//
// The error is an *apierr.Refusal (api_key_missing, api_key_invalid, api_key_revoked, api_key_expired, rate_limited or
// store_unavailable), or a failure of the database. The Rate is always set. The Principal is set whenever the key exists, even
// with a refusal. No error contains the key. An IPv6 address counts for its /64. All requests with an invalid address share one
// limit.
func (g *Gate) Admit(ctx context.Context, authorization []string, address netip.Addr) (Principal, limit.Rate, error) {
	client := limit.ClientOf(address)
	now := g.now()
	if minute, found := g.blocked.Get(client); found && minute == limit.Minute(now) {
		return addressBlocked(now)
	}
	key, err := bearer(authorization)
	if err != nil {
		return Principal{}, limit.Uncounted(now), err
	}
	found, err := g.find(ctx, lookup{Fingerprint(key), !WellFormed(key), client.String(), g.timeArg()})
	switch {
	case err != nil:
		return Principal{}, limit.Uncounted(now), fmt.Errorf("look up the api key: %w", err)
	case found.known:
		return g.decideKnown(found)
	case limit.TooManyUnknown(found.unknown):
		g.blocked.Add(client, limit.Minute(found.now))
		return addressBlocked(found.now)
	default:
		return keyInvalid(found.now)
	}
}

// decideKnown decides on a request with a known key, which lookup has counted.
func (g *Gate) decideKnown(found lookupResult) (Principal, limit.Rate, error) {
	p, rate := found.principal, limit.Counted(found.count, found.now)
	// A revoked or expired key is refused as such even beyond the limit, because waiting would not help.
	limited := rate.Limited
	rate.Limited = false
	switch {
	case found.revoked:
		return p, rate, apierr.New(apierr.APIKeyRevoked, "The API key was revoked. Use another key of the store.")
	case found.expired:
		return p, rate, apierr.New(apierr.APIKeyExpired, "The API key is past its expiry date. Create a new key and use that.")
	}
	g.uses.note(p.KeyID, found.now.UnixMilli())
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

// addressBlocked refuses a client that presented too many unknown keys in this minute.
func addressBlocked(now time.Time) (Principal, limit.Rate, error) {
	return Principal{}, limit.Blocked(now), apierr.New(apierr.RateLimited, fmt.Sprintf(
		"More than %d requests with an unknown API key came from this address in this minute. "+
			"Check the key, wait as long as Retry-After says, then try again.", limit.UnknownKeysPerMinute))
}

// keyInvalid refuses a key that does not exist. Malformed and unknown keys get one answer, because the owner must do the same
// in both cases.
func keyInvalid(now time.Time) (Principal, limit.Rate, error) {
	return Principal{}, limit.Uncounted(now), apierr.New(apierr.APIKeyInvalid,
		"The API key does not exist. Check that the whole key was copied, or create a new one.")
}
