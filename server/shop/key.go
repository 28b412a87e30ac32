package shop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/apikey"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/validate"
)

// MaxActiveKeys is how many keys of a store may be active at once (specification, Limits).
const MaxActiveKeys = 10

// maxKeyNameRunes is how many characters a key's name may have.
var maxKeyNameRunes = validate.MaxOf("storefront.admin.v1.CreateKeyRequest.name")

// keyLifetimes are how long a key can be used (specification, Authentication). A year has 365 days; 0 means for ever.
var keyLifetimes = map[adminv1.Key_Lifetime]time.Duration{
	adminv1.Key_DAYS_30: 30 * 24 * time.Hour,
	adminv1.Key_DAYS_90: 90 * 24 * time.Hour,
	adminv1.Key_YEAR_1:  365 * 24 * time.Hour,
	adminv1.Key_NEVER:   0,
}

// KeyDraft is a key to create.
type KeyDraft struct {
	// Name is the name of the tool that uses the key. The activity journal shows it.
	Name string
	// Scopes are one or more of auth.Scopes.
	Scopes []string
	// Lifetime is how long the key is valid after its creation. The zero value is refused.
	Lifetime adminv1.Key_Lifetime
}

// CreatedKey is a new API key with its text, which is not stored.
type CreatedKey struct {
	*ent.ApiKey
	Text string
}

// CreateKey creates an API key of the store. With tenant.WithIdempotencyKey it creates one API key for each idempotency key.
func (s *Shop) CreateKey(ctx context.Context, d KeyDraft) (CreatedKey, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return CreatedKey{}, err
	}
	p := &validate.Problems{}
	name, scopes := p.NotID("name", keyName(p, "name", d.Name)), keyScopes(p, "scopes", d.Scopes)
	lifetime, known := keyLifetimes[d.Lifetime]
	if !known {
		p.Invalid("lifetime", "must be 30 days, 90 days, 1 year or never")
	}
	if err := p.Err(); err != nil {
		return CreatedKey{}, err
	}
	text := auth.NewKey(t.ID)
	fingerprint := auth.Fingerprint(text)
	return hook.Answer(ctx, s.db, func(c *hook.Change) (created CreatedKey, err error) {
		if err := ClaimIdempotencyKey(c, "api_key.create"); err != nil {
			return created, err
		}
		if _, err := LockStore(c); err != nil { // so that two transactions cannot both create the tenth key
			return created, err
		}
		now := c.Time()
		active, err := ActiveKeys(c, now)
		if err != nil {
			return created, err
		}
		if active >= MaxActiveKeys {
			return created, apierr.New(apierr.APIKeyLimit,
				fmt.Sprintf("The store has %d active keys, which is the limit; revoke one first.", active))
		}
		create := c.Tx.ApiKey.Create().SetStoreID(t.ID).SetName(name).SetFingerprint(fingerprint[:]).
			SetHint(auth.Hint(text)).SetScopes(scopes).SetCreatedAt(now)
		if lifetime > 0 {
			create.SetExpiresAt(now.Add(lifetime))
		}
		row, err := create.Save(c)
		if err != nil {
			return created, fmt.Errorf("create key: %w", err)
		}
		return CreatedKey{row, text}, noticeKey(c, row)
	})
}

func keyName(p *validate.Problems, field, name string) string {
	name = p.Line(field, name, maxKeyNameRunes)
	if name == "" {
		p.Invalid(field, "must name the tool that uses the key")
	}
	return name
}

// keyScopes refuses unknown scopes and an empty list. It returns the scopes sorted, each once.
func keyScopes(p *validate.Problems, field string, scopes []string) []string {
	if len(scopes) == 0 {
		p.Invalid(field, "must name at least one of "+strings.Join(auth.Scopes(), ", "))
	}
	for _, scope := range scopes {
		if !slices.Contains(auth.Scopes(), scope) {
			p.Invalid(field, fmt.Sprintf("must be one of %s, not %q", strings.Join(auth.Scopes(), ", "), scope))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(scopes)))
}

// ActiveKeys counts the keys that are neither revoked nor expired. The caller has locked the store, so that no other change
// adds one.
func ActiveKeys(c *hook.Change, at time.Time) (int, error) {
	active, err := c.Tx.ApiKey.Query().Where(apikey.StoreID(c.Store.ID), apikey.RevokedAtIsNil(),
		apikey.Or(apikey.ExpiresAtIsNil(), apikey.ExpiresAtGT(at))).Count(c)
	if err != nil {
		return 0, fmt.Errorf("count keys: %w", err)
	}
	return active, nil
}

// CheckImportedKey checks a key that an adminv1.ExportedKey describes. It refuses values that a key made by CreateKey cannot
// have, and converts name and scopes to their stored form.
func CheckImportedKey(p *validate.Problems, row *ent.ApiKey) {
	row.Name, row.Scopes = keyName(p, "key.name", invisible.OneLine(row.Name)), keyScopes(p, "key.scopes", row.Scopes)
	if !auth.IsHint(row.Hint) {
		p.Invalid("key.hint", "must be "+auth.Prefix+"... and the last four characters of the key")
	}
}

// noticeKey names as createdBy the member who created the key, or null for the platform.
func noticeKey(c *hook.Change, row *ent.ApiKey) error {
	n := notice.Notice{Type: notice.KeyCreated, StoreID: row.StoreID, Data: map[string]any{"keyId": row.ID, "name": row.Name,
		"scopes": row.Scopes, "createdBy": nil}}
	if c.Actor.Type != tenant.ActorOperator {
		n.Data["createdBy"] = c.Actor.Name
	}
	return notice.Write(c, c.DB, c.Tx, row.CreatedAt, n)
}

// GetKey returns a key of the store.
func (s *Shop) GetKey(ctx context.Context, id string) (*ent.ApiKey, error) {
	t, keyID, err := validate.StoreAndID(ctx, id, keyNotFound)
	if err != nil {
		return nil, err
	}
	row, err := s.db.Client().ApiKey.Query().Where(apikey.StoreID(t.ID), apikey.ID(keyID)).Only(ctx)
	if err := apierr.RowError("key", err, keyNotFound); err != nil {
		return nil, err
	}
	return row, nil
}

// RevokeKey revokes a key of the store for good, with effect from the next request on every server. Revoking a revoked key
// changes nothing.
func (s *Shop) RevokeKey(ctx context.Context, id string) (*ent.ApiKey, error) {
	return hook.Answer(ctx, s.db, func(c *hook.Change) (*ent.ApiKey, error) {
		parsed, ok := validate.ParseID(id)
		if !ok {
			return nil, keyNotFound()
		}
		row, err := hook.LockRow(c, c.Tx.ApiKey.Query().Where(apikey.StoreID(c.Store.ID), apikey.ID(parsed)))
		if err := apierr.RowError("key", err, keyNotFound); err != nil || row.RevokedAt != nil {
			return row, err
		}
		return row.Update().SetRevokedAt(c.Time(row.ID)).Save(c)
	})
}

func keyNotFound() error {
	return apierr.New(apierr.APIKeyNotFound, "There is no API key with this id.")
}
