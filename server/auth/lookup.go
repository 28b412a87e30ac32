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
	"go.storefront.example/server/limit"
)

// keyStore is what a gate needs of the database.
type keyStore interface {
	// find looks up a key with its store and counts the request: on the key's counter if the key
	// exists, on its client's if not, or if the client is beyond its limit.
	find(ctx context.Context, q lookup) (result, error)
	// writeUses moves the last use of keys forward, never back.
	writeUses(ctx context.Context, list []use) error
	// writeCounts writes the counters that are held in memory, if any are. What it cannot write stays for
	// the next time.
	writeCounts(ctx context.Context) error
	// sweep removes the clients' counters of minutes before the last one. A nil time asks the
	// database's clock.
	sweep(ctx context.Context, now *time.Time) error
}

// lookup is one request to admit.
type lookup struct {
	fingerprint [32]byte
	malformed   bool // the text cannot be a key, so none is looked up
	client      string
	now         *time.Time // nil: by the database's clock
}

// result is what a lookup found.
type result struct {
	now   time.Time // time of the answer: UTC, in milliseconds
	known bool      // whether there is such a key, from a client within its limit
	// For an unknown key: the client's counter in this minute, including this request.
	unknown int
	// For a known key:
	principal Principal
	count     int // requests of the key in this minute, this one included
	revoked   bool
	expired   bool
}

// statements are the queries of a gate for one database. Their parameters have the same numbers in
// both.
type statements struct {
	// known returns the time in Unix milliseconds, the key's counter and the subject. It returns no row
	// when the key does not exist or the client is beyond its limit. On PostgreSQL it counts the request.
	// Parameters: fingerprint, client, time or null, limit of unknown keys.
	known string
	// unknown counts a request on its client and returns the time, the count, and whether the key
	// exists after all. It takes the same parameters except the limit.
	unknown string
	// writeUses takes uses in JSON, writeCounts counters in JSON and their minute, sweep the time or null.
	writeUses, writeCounts, sweep string
}

// database runs the statements on the service's database.
type database struct {
	*sql.DB
	statements
}

func newKeyStore(s *db.DB) keyStore {
	if s.Dialect() == dialect.Postgres {
		return newPostgresKeys(s)
	}
	return newSQLiteKeys(s)
}

// find finds a key, or counts the request on its client, in one statement or two.
func (q lookup) find(known func() (result, error), unknown func() (found result, exists bool, err error)) (result, error) {
	if q.malformed {
		found, _, err := unknown()
		return found, err
	}
	// At most twice: between the two statements the minute may change, or the key may be created.
	for range 2 {
		found, err := known()
		if !errors.Is(err, sql.ErrNoRows) {
			return found, err
		}
		found, exists, err := unknown()
		if err != nil || !exists || limit.TooManyUnknown(found.unknown) {
			return found, err
		}
	}
	return result{}, errors.New("the key is found and not found")
}

func (s statements) findKnown(ctx context.Context, on *sql.DB, q lookup) (result, error) {
	var (
		now  int64
		text string
		f    result
	)
	err := on.QueryRowContext(ctx, s.known, q.fingerprint[:], q.client, q.now, limit.UnknownKeysPerMinute).
		Scan(&now, &f.count, &text)
	if err != nil {
		return result{}, err
	}
	return f, f.setKnown(now, text)
}

// setKnown sets the result of a key that exists, from the time in Unix milliseconds and the subject's text.
func (f *result) setKnown(now int64, text string) error {
	s, err := readSubject(text)
	if err != nil {
		return fmt.Errorf("read the key and its store: %w", err)
	}
	f.now, f.known = time.UnixMilli(now).UTC(), true
	f.principal = s.principal
	f.revoked = s.revoked != 0
	// A key expires at the exact instant of its expiry.
	f.expired = s.expires != 0 && now >= s.expires
	return nil
}

func (s statements) countUnknown(ctx context.Context, on *sql.DB, q lookup) (f result, exists bool, err error) {
	var now int64
	err = on.QueryRowContext(ctx, s.unknown, q.fingerprint[:], q.client, q.now).Scan(&now, &f.unknown, &exists)
	f.now = time.UnixMilli(now).UTC()
	return f, exists, err
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
