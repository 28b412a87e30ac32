package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"entgo.io/ent/dialect/sql"

	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/apikey"
	"go.storefront.example/gen/ent/store"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
)

// MaxActiveKeys is how many keys of a store may be active at once (specification, Limits).
const MaxActiveKeys = 10

// maxKeyNameRunes bounds a key's name.
const maxKeyNameRunes = 100

// The lifetimes that a key can be given (specification, Authentication); a year is 365 days.
var keyLifetimes = map[string]time.Duration{
	"30d":   30 * 24 * time.Hour,
	"90d":   90 * 24 * time.Hour,
	"1y":    365 * 24 * time.Hour,
	"never": 0,
}

// KeyDraft is a key to create.
type KeyDraft struct {
	// Name is the tool that uses the key; it appears in the activity journal.
	Name string
	// Scopes are at least one of auth.Scopes.
	Scopes []string
	// Lifetime is 30d, 90d, 1y or never.
	Lifetime string
}

// Key is an API key as the operator sees it. Text is the whole key right after its creation, and
// empty ever after.
type Key struct {
	ID         uuid.UUID
	Name       string
	Text       string
	Hint       string
	Scopes     []string
	Status     string // active, revoked or expired
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
	CreatedAt  time.Time
}

// CreateKey creates an API key of the store, once under WithIdempotencyKey. It refuses with
// validation_failed, idempotency_key_reused, or with api_key_limit when the store has ten active keys.
func (s *Shop) CreateKey(ctx context.Context, d KeyDraft) (Key, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return Key{}, err
	}
	p := &problems{}
	name := p.text("name", d.Name, maxKeyNameRunes)
	if name == "" {
		p.invalid("name", "must say which tool uses the key")
	}
	if len(d.Scopes) == 0 {
		p.invalid("scopes", "must name at least one of "+strings.Join(auth.Scopes(), ", "))
	}
	for _, scope := range d.Scopes {
		if !slices.Contains(auth.Scopes(), scope) {
			p.invalid("scopes", fmt.Sprintf("%q is none of %s", scope, strings.Join(auth.Scopes(), ", ")))
		}
	}
	lifetime, known := keyLifetimes[d.Lifetime]
	if !known {
		p.invalid("expires", "must be 30d, 90d, 1y or never")
	}
	if err := p.err(); err != nil {
		return Key{}, err
	}
	scopes := slices.Compact(slices.Sorted(slices.Values(d.Scopes)))
	text := auth.NewKey()
	fingerprint := auth.Fingerprint(text)
	var row *ent.ApiKey
	err = s.withTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		if err := s.claim(ctx, tx, "api_key.create"); err != nil {
			return err
		}
		// The store's row is held, so that two creations cannot both be the tenth.
		if _, err := lock(s, tx.Store.Query().Where(store.ID(t.ID))).Only(ctx); err != nil {
			return fmt.Errorf("read store: %w", err)
		}
		now := hook.Time(ctx)
		active, err := tx.ApiKey.Query().Where(apikey.StoreID(t.ID), apikey.RevokedAtIsNil(),
			apikey.Or(apikey.ExpiresAtIsNil(), apikey.ExpiresAtGT(now))).Count(ctx)
		if err != nil {
			return fmt.Errorf("count keys: %w", err)
		}
		if active >= MaxActiveKeys {
			return apierr.New(apierr.APIKeyLimit, fmt.Sprintf("The store has %d active keys, which is the limit; revoke one first.", active))
		}
		create := tx.ApiKey.Create().SetStoreID(t.ID).SetName(name).SetFingerprint(fingerprint[:]).
			SetHint(auth.Hint(text)).SetScopes(scopes).SetCreatedAt(now)
		if lifetime > 0 {
			create.SetExpiresAt(now.Add(lifetime))
		}
		row, err = create.Save(ctx)
		if err != nil {
			return fmt.Errorf("create key: %w", err)
		}
		return nil
	})
	if err != nil {
		return Key{}, err
	}
	key := s.keyOf(row)
	key.Text = text
	return key, nil
}

// ListKeys returns the store's newest keys, at most limit.
func (s *Shop) ListKeys(ctx context.Context, limit int) ([]Key, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Client().ApiKey.Query().Where(apikey.StoreID(t.ID)).
		Order(apikey.ByCreatedAt(sql.OrderDesc()), apikey.ByID(sql.OrderDesc())).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	keys := make([]Key, len(rows))
	for i, row := range rows {
		keys[i] = s.keyOf(row)
	}
	return keys, nil
}

// GetKey returns a key of the store. It refuses with api_key_not_found.
func (s *Shop) GetKey(ctx context.Context, id string) (Key, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return Key{}, err
	}
	keyID, ok := parseID(id)
	if !ok {
		return Key{}, keyNotFound()
	}
	row, err := s.store.Client().ApiKey.Query().Where(apikey.StoreID(t.ID), apikey.ID(keyID)).Only(ctx)
	if err := readError("key", err, keyNotFound); err != nil {
		return Key{}, err
	}
	return s.keyOf(row), nil
}

// RevokeKey revokes a key of the store for good, with effect from the next request on every
// server. Revoking a revoked key changes nothing. It refuses with api_key_not_found.
func (s *Shop) RevokeKey(ctx context.Context, id string) (Key, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return Key{}, err
	}
	keyID, ok := parseID(id)
	if !ok {
		return Key{}, keyNotFound()
	}
	var row *ent.ApiKey
	err = s.withTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err = take(ctx, s, tx.ApiKey.Query().Where(apikey.StoreID(t.ID), apikey.ID(keyID)))
		if err := readError("key", err, keyNotFound); err != nil {
			return err
		}
		if row.RevokedAt != nil {
			return nil
		}
		row, err = row.Update().SetRevokedAt(hook.Time(ctx)).Save(ctx)
		if err != nil {
			return fmt.Errorf("revoke key: %w", err)
		}
		return nil
	})
	if err != nil {
		return Key{}, err
	}
	return s.keyOf(row), nil
}

func keyNotFound() error {
	return apierr.New(apierr.APIKeyNotFound, "There is no API key with this id.")
}

func (s *Shop) keyOf(row *ent.ApiKey) Key {
	k := Key{
		ID: row.ID, Name: row.Name, Hint: row.Hint, Scopes: row.Scopes, Status: "active",
		ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, CreatedAt: row.CreatedAt,
	}
	switch {
	case row.RevokedAt != nil:
		k.Status = "revoked"
	case row.ExpiresAt != nil && !row.ExpiresAt.After(s.store.Now()):
		k.Status = "expired"
	}
	return k
}
