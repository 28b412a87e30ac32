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

// maxBlocked is how many blocked clients the gate has in memory, some 100 bytes each. For others, each request asks the
// database.
const maxBlocked = 1 << 16

// Options are the settings of a Gate. A server uses the zero value.
type Options struct {
	// RequestsPerMinute of one API key; 0 means limit.RequestsPerMinute. Only dev sets another number.
	RequestsPerMinute int
	// Clock decides about the minutes of limits and the expiry of keys. Nil means the database's clock.
	Clock func() time.Time
	// Log receives the write errors of Run; nil means slog.Default.
	Log *slog.Logger
}

// Gate admits requests. Goroutines may share it, and gates of several processes on one database count together.
type Gate struct {
	db         *db.DB
	writer     *sql.DB // counts requests with unknown keys, and writes what is counted in memory
	statements map[string]string
	// findKey looks up a key and, if the key exists, counts the request.
	findKey  func(context.Context, lookup) (lookupResult, error)
	clock    func() time.Time
	log      *slog.Logger
	allowed  int // requests of one key in a minute
	counters counters
	uses     uses
	// blocked has the minute in which a client sent too many unknown keys. In it, its requests are refused without a query.
	blocked *lru.Cache[netip.Prefix, int64]
	turns   chan struct{} // has a value for each statement that counts an unknown key

	flushEvery time.Duration
	flushing   sync.Mutex // held during a flush; protects swept
	swept      int64      // the minute in which sweep last deleted counters
}

// NewGate returns a gate for a database. The caller must also call Run.
func NewGate(d *db.DB, o Options) *Gate {
	blocked, _ := lru.New[netip.Prefix, int64](maxBlocked) // lru.New fails only for a size below 1
	g := &Gate{
		log: cmp.Or(o.Log, slog.Default()), clock: o.Clock, allowed: cmp.Or(o.RequestsPerMinute, limit.RequestsPerMinute),
		blocked: blocked, turns: make(chan struct{}, maxWaiting), flushEvery: flushEvery,
	}
	g.useDatabase(d)
	return g
}

func (g *Gate) now() time.Time {
	if g.clock != nil {
		return g.clock().UTC()
	}
	return g.db.Now()
}

// timeArg is nil if a statement is to use the database's clock.
func (g *Gate) timeArg() any {
	if g.clock != nil {
		return g.now()
	}
	return g.db.TimeArg()
}

// Admit counts a request and identifies its caller, from the values of its Authorization header and its client's address. An
// IPv6 address counts with its /64; all invalid addresses are one client.
//
// The error is an *apierr.Refusal, in the cases that the package comment draws, or the database's; it never contains the key.
// The Rate is always set, and the Principal if the key exists. Admit makes one round trip to the database, a second for an
// unknown key, and none if the header is missing or the client is blocked in memory.
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

// decideKnown decides about a request that is counted already.
func (g *Gate) decideKnown(found lookupResult) (Principal, limit.Rate, error) {
	p, rate := found.principal, limit.Counted(g.allowed, found.count, found.now)
	// Waiting does not help the owner of a revoked or expired key, so its code comes first.
	limited := rate.Limited
	rate.Limited = false
	switch {
	case found.revoked:
		return p, rate, apierr.New(apierr.APIKeyRevoked, "The API key was revoked. Use another key of the store.")
	case found.expired:
		return p, rate, apierr.New(apierr.APIKeyExpired, "The API key is past its expiry date. Create a new key and use that.")
	}
	g.uses.record(p.KeyID, found.now.UnixMilli())
	switch {
	case limited:
		rate.Limited = true
		return p, rate, apierr.New(apierr.RateLimited, fmt.Sprintf(
			"The API key made more than %d requests in this minute. Wait as long as Retry-After says, then try again.",
			g.allowed))
	case p.Store.Status != statusOpen:
		return p, rate, apierr.New(apierr.StoreUnavailable,
			"The store is "+p.Store.Status+". Its keys are refused while it stays so.")
	}
	return p, rate, nil
}

// addressBlocked refuses a client that sent too many unknown keys in this minute.
func addressBlocked(now time.Time) (Principal, limit.Rate, error) {
	return Principal{}, limit.Blocked(now), apierr.New(apierr.RateLimited, fmt.Sprintf(
		"More than %d requests with an unknown API key came from this address in this minute. "+
			"Check the key, wait as long as Retry-After says, then try again.", limit.UnknownKeysPerMinute))
}

// keyInvalid refuses an unknown and a malformed key alike, because the caller must correct both.
func keyInvalid(now time.Time) (Principal, limit.Rate, error) {
	return Principal{}, limit.Uncounted(now), apierr.New(apierr.APIKeyInvalid,
		"The API key does not exist. Check that the whole key was copied, or create a new one.")
}
