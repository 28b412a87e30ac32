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
	malformed   bool // the text cannot be a key, so none is looked up
	client      string
	moment      any // of the gate's clock; nil: by the database's
}

// lookupResult is what a lookup found.
type lookupResult struct {
	now   time.Time // time of the answer: UTC, in milliseconds
	known bool      // whether there is such a key, from a client within its limit
	// For an unknown key: the client's counter in this minute, including this request.
	unknown int
	// For a known key:
	principal        Principal
	count            int // requests of the key in this minute, this one included
	revoked, expired bool
}

// useDatabase sets the statements of the gate and the pools that run them.
func (g *Gate) useDatabase(s *db.DB) {
	g.db, g.writer = s, db.ByDialect(s, s.Admissions, s.Writer)()
	g.statements = db.Statements(db.ByDialect(s, postgresSQL, sqliteSQL))
	g.known = db.ByDialect(s, (&batcher{run: g.findCountingInDatabase}).find, g.findCountingInMemory)
}

// find looks the key up with its store and counts the request: on the key's counter if the key exists, on its client's if
// not, or if the client is beyond its limit.
func (g *Gate) find(ctx context.Context, q lookup) (lookupResult, error) {
	// At most twice: between the two statements the minute may change, or the key may be created.
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

// findCountingInMemory looks a key up on connections that only read, and counts the request in memory, because a counter that
// each request wrote would wait for SQLite's one writer and empty the caches of all connections that read. Memory is enough,
// because one server alone uses a SQLite file.
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

// scan reads a row of the statement "known", and returns the lookup's position from 1.
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
	// A key expires at the exact instant of its expiry.
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
