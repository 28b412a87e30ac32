package auth

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"entgo.io/ent/dialect"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/ratelimit"
)

// asker is what a gate asks of the database.
type asker interface {
	// ask looks a key up with its store and counts the request: on the key's counter when there is
	// such a key, on its client's when there is none or the client is beyond its limit.
	ask(ctx context.Context, q question) (finding, error)
	// count counts a request whose key cannot be one, on its client.
	count(ctx context.Context, q question) (finding, error)
	// writeUses moves the last use of keys forward, never back.
	writeUses(ctx context.Context, list []use) error
	// sweep removes the clients' counters of minutes before the last one. A nil time asks the
	// database's clock.
	sweep(ctx context.Context, now *time.Time) error
}

// question is one request, as the database needs to know it.
type question struct {
	fingerprint [32]byte
	client      string
	now         *time.Time // nil: by the database's clock
}

// finding is the answer to a question.
type finding struct {
	now   time.Time // by which it was answered: UTC, in milliseconds
	known bool      // whether there is such a key, from a client within its limit
	// For a key that is not known: the client's counter in this minute, this request included.
	unknown int
	// For a known key:
	principal Principal
	count     int // requests of the key in this minute, this one included
	revoked   bool
	expired   bool
}

// statements are one database's spelling of what a gate asks. Their parameters are numbered alike.
type statements struct {
	// known counts a request on its key and returns the time in Unix milliseconds, the count and the
	// subject; no row when there is no such key, or the client is beyond its limit. Parameters:
	// fingerprint, client, time or null, limit of unknown keys.
	known string
	// unknown counts a request on its client and returns the time, the count, and whether there is
	// such a key after all. The same parameters but for the limit.
	unknown string
	// writeUses takes uses in JSON; sweep takes the time or null.
	writeUses, sweep string
}

// database asks the database that the service keeps its keys in.
type database struct {
	*sql.DB
	statements
}

func newAsker(s *db.DB) asker {
	if s.Dialect() == dialect.Postgres {
		return database{s.Admissions(), postgres}
	}
	return database{s.Admissions(), sqlite}
}

func (d database) ask(ctx context.Context, q question) (finding, error) {
	// Twice at most: between its two statements the minute may turn, or the key be created.
	for range 2 {
		found, err := d.askKnown(ctx, q)
		if !errors.Is(err, sql.ErrNoRows) {
			return found, err
		}
		found, exists, err := d.askUnknown(ctx, q)
		if err != nil || !exists || ratelimit.TooManyUnknown(found.unknown) {
			return found, err
		}
	}
	return finding{}, errors.New("the key is found and not found")
}

func (d database) askKnown(ctx context.Context, q question) (finding, error) {
	var (
		now  int64
		text string
		f    = finding{known: true}
	)
	err := d.QueryRowContext(ctx, d.known, q.fingerprint[:], q.client, q.now, ratelimit.UnknownKeysPerMinute).
		Scan(&now, &f.count, &text)
	if err != nil {
		return finding{}, err
	}
	s, err := readSubject(text)
	if err != nil {
		return finding{}, fmt.Errorf("read the key and its store: %w", err)
	}
	f.now = time.UnixMilli(now).UTC()
	f.principal = s.principal
	f.revoked = s.revoked != 0
	// A key is expired from the very instant of its expiry.
	f.expired = s.expires != 0 && now >= s.expires
	return f, nil
}

func (d database) askUnknown(ctx context.Context, q question) (f finding, exists bool, err error) {
	var now int64
	err = d.QueryRowContext(ctx, d.unknown, q.fingerprint[:], q.client, q.now).Scan(&now, &f.unknown, &exists)
	f.now = time.UnixMilli(now).UTC()
	return f, exists, err
}

func (d database) count(ctx context.Context, q question) (finding, error) {
	found, _, err := d.askUnknown(ctx, q)
	return found, err
}

func (d database) writeUses(ctx context.Context, list []use) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	_, err = d.ExecContext(ctx, d.statements.writeUses, string(text))
	return err
}

func (d database) sweep(ctx context.Context, now *time.Time) error {
	_, err := d.ExecContext(ctx, d.statements.sweep, now)
	return err
}
