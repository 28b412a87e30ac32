package auth

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
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

// lookup is one request to admit.
type lookup struct {
	fingerprint [32]byte
	malformed   bool // the text cannot be a key, so it is not looked up
	client      string
	moment      any // the time by the gate's clock; nil means by the database's
}

// lookupResult is what a lookup found.
type lookupResult struct {
	now   time.Time // time of the lookup, in UTC and whole milliseconds
	known bool      // whether the key exists and its client is within the limit
	// For an unknown key: the client's counter in this minute, including this request.
	unknown int
	// For a known key:
	principal        Principal
	count            int // requests of the key in this minute, this one included
	revoked, expired bool
}

// useDatabase sets the gate's statements and the pools that run them.
func (g *Gate) useDatabase(d *db.DB) {
	g.db, g.writer = d, db.ByDialect(d, d.Admissions, d.Writer)()
	g.statements = db.Statements(db.ByDialect(d, postgresSQL, sqliteSQL))
	g.known = db.ByDialect(d, (&batcher{run: g.findCountingInDatabase}).find, g.findCountingInMemory)
}

// find looks up the key with its store and counts the request: on the key's counter if the key exists and its client is within
// the limit, otherwise on the client's.
func (g *Gate) find(ctx context.Context, q lookup) (lookupResult, error) {
	// Up to twice, because between the two statements the minute may change or the key may be created.
	for range 2 {
		if !q.malformed {
			if found, err := g.known(ctx, q); err != nil || found.known {
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

// findCountingInMemory looks up a key on connections that only read, and counts the request in memory. A counter in the
// database would make each request wait for SQLite's one writer and empty the caches of all reading connections. Memory is
// enough, because only one server uses a SQLite file.
func (g *Gate) findCountingInMemory(ctx context.Context, q lookup) (found lookupResult, err error) {
	row := g.db.Admissions().QueryRowContext(ctx, g.statements["known"], q.fingerprint[:], q.client, q.moment,
		limit.UnknownKeysPerMinute)
	if _, err = found.scan(row); errors.Is(err, sql.ErrNoRows) {
		return lookupResult{}, nil
	}
	if err == nil {
		found.count = g.counters.add(found.principal.KeyID, limit.Minute(found.now), found.count)
	}
	return found, err
}

// scan reads a row of the statement "known" and returns the position of its lookup, counted from 1.
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
	// A key is expired at exactly its expiry.
	f.expired = expires.Valid && !f.now.Before(expires.Time)
	return position, nil
}

// countUnknown counts a request on its client, and reports whether the key exists after all.
func (g *Gate) countUnknown(ctx context.Context, q lookup) (f lookupResult, exists bool, err error) {
	var now int64
	err = g.writer.QueryRowContext(ctx, g.statements["unknown"], q.fingerprint[:], q.client, q.moment).
		Scan(&now, &f.unknown, &exists)
	f.now = time.UnixMilli(now).UTC()
	return f, exists, err
}
