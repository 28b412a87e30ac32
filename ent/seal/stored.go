package seal

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// Sealed names a webhook, its store, and the id of the key that sealed its secret.
type Sealed struct {
	Webhook, Store uuid.UUID
	KeyID          string
}

// Unknown returns the webhooks whose key the keyring lacks, in the order of their ids. A nil keyring has no keys.
func (r *Keyring) Unknown(ctx context.Context, d *db.DB) (unknown []Sealed, err error) {
	known := map[string]bool{}
	for row := range db.Rows(ctx, d.Reader(), "SELECT DISTINCT secret_key FROM webhooks") {
		var keyID string
		if err := row.Scan(&keyID); err != nil {
			return nil, fmt.Errorf("read the keys of the webhooks' secrets: %w", err)
		}
		known[keyID] = r != nil && r.Has(keyID)
	}
	var args db.Args
	var missing []string
	for keyID, ok := range known {
		if !ok {
			missing = append(missing, args.Add(keyID))
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	for row := range db.Rows(ctx, d.Reader(), "SELECT id, store_id, secret_key FROM webhooks WHERE secret_key IN ("+
		strings.Join(missing, ", ")+") ORDER BY id", args...) {
		var s Sealed
		if err := row.Scan(&s.Webhook, &s.Store, &s.KeyID); err != nil {
			return nil, fmt.Errorf("read webhooks under unknown keys: %w", err)
		}
		unknown = append(unknown, s)
	}
	return unknown, nil
}

// CheckStored fails with ErrUnknownKey if the database has secrets that the keyring cannot open, and none under its current
// key: then that is probably a mistake, and nothing may be sealed with it.
func (r *Keyring) CheckStored(ctx context.Context, d *db.DB) error {
	var used bool
	err := d.Reader().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM webhooks WHERE secret_key = $1)", r.Current()).Scan(&used)
	if err != nil {
		return fmt.Errorf("look for secrets under the current key: %w", err)
	}
	if used {
		return nil
	}
	unknown, err := r.Unknown(ctx, d)
	if err != nil || len(unknown) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s opens none of the stored secrets, which the webhooks %s have", ErrUnknownKey, r.Current(), Names(unknown))
}

// maxNamed is how many webhooks Names names at most.
const maxNamed = 5

// Names returns a text such as "ID (key 0f3a…), ID (key 0f3a…), 7 more".
func Names(sealed []Sealed) string {
	var names []string
	for _, s := range sealed[:min(len(sealed), maxNamed)] {
		names = append(names, fmt.Sprintf("%s (key %s)", s.Webhook, shortID(s.KeyID)))
	}
	if more := len(sealed) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
