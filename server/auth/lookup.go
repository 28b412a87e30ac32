package auth

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/limit"
)

var (
	//go:embed postgres.sql
	postgresSQL string
	//go:embed sqlite.sql
	sqliteSQL string
)

type lookup struct {
	fingerprint [32]byte
	malformed   bool // the text cannot be a key, so none is looked up
	client      string
	timeArg     any // the current time by the gate's clock; nil means the database's clock
}

type lookupResult struct {
	now   time.Time // time of the lookup, in UTC and whole milliseconds
	known bool      // whether the key exists and the client is within its limit
	// unknown is how many requests with unknown keys the client has made in this minute, including this one; 0 if known is
	// true. Over the limit, existing keys count, too.
	unknown int
	// These are set for a known key:
	principal        Principal
	count            int // requests of the key in this minute, including this one
	revoked, expired bool
}

// useDatabase sets the gate's statements and connection pools.
func (g *Gate) useDatabase(d *db.DB) {
	g.db, g.writer = d, db.ByDialect(d, d.Admissions, d.Writer)()
	g.statements = db.Statements(db.ByDialect(d, postgresSQL, sqliteSQL))
	g.statements["known, waiting"] = strings.ReplaceAll(g.statements["known"], "SKIP LOCKED", "")
	g.findKey = db.ByDialect(d, newBatcher(g.findCountingInDatabase, g.waitCountingInDatabase).find, g.findCountingInMemory)
}

// find counts the request for the key if it exists and the client is within its limit, otherwise for the client.
func (g *Gate) find(ctx context.Context, q lookup) (lookupResult, error) {
	// Between the two statements of a try, a minute may end or the key may be created.
	for range 2 {
		if !q.malformed {
			if found, err := g.findKey(ctx, q); err != nil || found.known {
				return found, err
			}
		}
		found, exists, err := g.countUnknown(ctx, q)
		if err != nil || !exists || limit.TooManyUnknown(found.unknown) {
			return found, err
		}
	}
	return lookupResult{}, errors.New("the key is found and not found")
}

// findCountingInMemory looks up a key on read-only connections. Counting in the database would make each request wait for
// SQLite's only writer, and empty the caches of all other connections. A SQLite file has only one server.
func (g *Gate) findCountingInMemory(ctx context.Context, q lookup) (found lookupResult, err error) {
	row := g.db.Admissions().QueryRowContext(ctx, g.statements["known"], q.fingerprint[:], q.client, q.timeArg,
		limit.UnknownKeysPerMinute)
	if _, err = found.scan(row); errors.Is(err, sql.ErrNoRows) {
		return lookupResult{}, nil
	}
	if err == nil {
		found.count = g.counters.add(found.principal.KeyID, limit.Minute(found.now), found.count)
	}
	return found, err
}

// scan reads a row of the statement "known". position counts its lookup from 1.
func (f *lookupResult) scan(row interface{ Scan(into ...any) error }) (position int, err error) {
	var (
		now                 int64
		scopes, unavailable []byte
		expires, revoked    sql.NullTime
	)
	p, s := &f.principal, &f.principal.Store
	err = row.Scan(&position, &now, &f.count, &p.KeyID, &p.KeyName, &scopes, &expires, &revoked,
		&s.ID, &s.Slug, &s.Currency, &s.Country, &s.Status, &s.PaymentLinksOpen, &unavailable,
		&s.PlatformFeePercent)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(json.Unmarshal(scopes, &p.Scopes), json.Unmarshal(unavailable, &s.UnavailableTypes)); err != nil {
		return 0, fmt.Errorf("read the key and its store: %w", err)
	}
	f.now, f.known, f.revoked = time.UnixMilli(now).UTC(), true, revoked.Valid
	// A key has expired as soon as the time of its expiry has come.
	f.expired = expires.Valid && !f.now.Before(expires.Time)
	return position, nil
}

// countUnknown counts a request for its client, and reports whether the key exists. If the client's counter is locked, it tries
// again until ctx ends. At most maxWaiting calls use a connection, so that the others stay free for known keys.
func (g *Gate) countUnknown(ctx context.Context, q lookup) (f lookupResult, exists bool, err error) {
	for err = errHeld; errors.Is(err, errHeld); {
		select {
		case g.turns <- struct{}{}:
		case <-ctx.Done():
			return lookupResult{}, false, context.Cause(ctx)
		}
		var now int64
		err = held(g.writer.QueryRowContext(ctx, g.statements["unknown"], q.fingerprint[:], q.client, q.timeArg).
			Scan(&now, &f.unknown, &exists))
		<-g.turns
		f.now = time.UnixMilli(now).UTC()
	}
	return f, exists, err
}
