package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/store"
	"go.storefront.example/ent/tenant"
)

// asker is what a gate asks of a database, one implementation for each of the two.
type asker interface {
	// ask looks a key up with its store and counts the request: on the key's counter when there is
	// such a key, on its address when there is none, and nowhere when the address is beyond its limit.
	ask(ctx context.Context, q question) (finding, error)
	// addUnknown adds to the counters of addresses, at most one delta each, and enters into stored
	// what they hold then.
	addUnknown(ctx context.Context, deltas []delta, stored map[string]int) error
	// writeUses moves the last use of keys forward, never back.
	writeUses(ctx context.Context, list []use) error
	// sweep removes the address counters of minutes before the last one. A nil time asks the
	// database's clock.
	sweep(ctx context.Context, now *time.Time) error
}

func newAsker(s *store.Store) asker {
	if s.Dialect() == dialect.Postgres {
		return postgres{s.Writer()}
	}
	return sqlite{s.Writer()}
}

// question is one request, as the database needs to know it.
type question struct {
	fingerprint [32]byte
	address     string
	now         *time.Time // nil: by the database's clock
	// pending unknown keys of the address in pendingMinute are not in its counter yet.
	pending       int
	pendingMinute int64
}

// finding is the answer to a question.
type finding struct {
	now     time.Time // by which it was answered, UTC
	stored  int       // the address's counter in this minute
	unknown int       // the same with what is pending
	known   bool      // whether there is such a key; false too when the address is beyond its limit
	// The rest is set for a known key.
	principal Principal
	count     int // requests of the key in this minute, this one included
	revoked   bool
	expired   bool
}

// subject is a key with its store, as both databases spell it in JSON: one column to read, where
// fourteen would have to be told apart for each database.
type subject struct {
	ID      uuid.UUID `json:"id"`
	Name    string    `json:"name"`
	Scopes  []string  `json:"scopes"`
	Expires *int64    `json:"expires"` // Unix milliseconds
	Revoked *int64    `json:"revoked"` // Unix milliseconds
	Store   struct {
		ID                 uuid.UUID `json:"id"`
		Slug               string    `json:"slug"`
		Currency           string    `json:"currency"`
		Country            string    `json:"country"`
		Status             string    `json:"status"`
		PaymentLinksOpen   bool      `json:"payment_links_open"`
		UnavailableTypes   []string  `json:"unavailable_types"`
		PlatformFeePercent float64   `json:"platform_fee_percent"`
	} `json:"store"`
}

// found enters a known key into the finding. It is expired from the very instant of its expiry.
func (f *finding) found(text []byte, count int) error {
	var s subject
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("read the key and its store: %w", err)
	}
	f.known, f.count = true, count
	f.revoked = s.Revoked != nil
	f.expired = s.Expires != nil && f.now.UnixMilli() >= *s.Expires
	f.principal = Principal{KeyID: s.ID, KeyName: s.Name, Scopes: s.Scopes, Store: tenant.Store(s.Store)}
	return nil
}
