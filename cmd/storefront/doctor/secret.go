package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
)

// page is how many secrets are read at a time.
const page = 1000

// SecretKeys are the keys that a server or a worker would start with.
type SecretKeys struct {
	// Ring is nil when no key is set.
	Ring *seal.Ring
	// Err is why the settings are not keys.
	Err error
	// Made is true if a key is made when it is first needed: on SQLite.
	Made bool
}

// Secrets opens the signing secret of every webhook with the keys; s is nil where the database
// cannot be asked for them.
func Secrets(ctx context.Context, s *db.DB, keys SecretKeys) Finding {
	const check = "secret-key"
	if keys.Err != nil {
		return fail(check, "set STOREFRONT_SECRET_KEY to the key that the webhooks were created under, as `storefront secret "+
			"generate` printed it", "%v", keys.Err)
	}
	if s == nil {
		return ok(check, "not tried: the database has to be reached, and its schema to be current")
	}
	total, missing, tampered := 0, map[string]int{}, []uuid.UUID(nil)
	err := eachSecret(ctx, s, func(webhook uuid.UUID, sealed []byte, key string) {
		total++
		if keys.Ring == nil {
			missing[key]++
			return
		}
		_, err := keys.Ring.Open(sealed, key, webhook[:])
		switch {
		case errors.Is(err, seal.ErrUnknownKey):
			missing[key]++
		case err != nil:
			tampered = append(tampered, webhook)
		}
	})
	switch {
	case err != nil:
		return broken(check, err)
	case len(missing) > 0:
		return fail(check, "set STOREFRONT_SECRET_KEY to the key that they were created under, or add that key to "+
			"STOREFRONT_OLD_SECRET_KEYS",
			"of %s, some are sealed under keys that are not given: %s", plural(total, "secret"), idsOf(missing))
	case len(tampered) > 0:
		return fail(check, "make new ones with `storefront webhook rotate ID`, and tell the owners",
			"%s that the right key does not open: they were changed or moved in the database: %s", plural(len(tampered), "secret"),
			some(tampered))
	case keys.Ring == nil && keys.Made:
		return ok(check, "none yet: one is made with the first webhook")
	case keys.Ring == nil:
		return warn(check, "make one with `storefront secret generate` and set STOREFRONT_SECRET_KEY to it everywhere",
			"not set: workers do not start and no webhook can be created")
	}
	return ok(check, "opens the secrets of %s", plural(total, "webhook"))
}

// eachSecret visits the webhooks in the order of their ids.
func eachSecret(ctx context.Context, s *db.DB, visit func(webhook uuid.UUID, sealed []byte, key string)) error {
	last, n, err := uuid.Nil, page, error(nil)
	for err == nil && n == page {
		last, n, err = secretsAfter(ctx, s, last, visit)
	}
	return err
}

// secretsAfter visits a page behind an id, and returns its last id and how many there were.
func secretsAfter(ctx context.Context, s *db.DB, last uuid.UUID, visit func(webhook uuid.UUID, sealed []byte, key string)) (
	uuid.UUID, int, error) {
	n := 0
	for row := range db.Rows(ctx, s.Reader(), "SELECT id, secret, secret_key FROM webhooks WHERE id > $1 ORDER BY id LIMIT $2", last,
		page) {
		var sealed []byte
		var key string
		if err := row.Scan(&last, &sealed, &key); err != nil {
			return last, n, err
		}
		n++
		visit(last, sealed, key)
	}
	return last, n, nil
}

// idsOf lists keys by their ids, which reveal nothing of the keys, with how many secrets each
// sealed.
func idsOf(missing map[string]int) string {
	ids := make([]string, 0, len(missing))
	for id, n := range missing {
		ids = append(ids, fmt.Sprintf("%s (%d)", id, n))
	}
	slices.Sort(ids)
	return strings.Join(ids, ", ")
}

// some lists the first few.
func some(ids []uuid.UUID) string {
	const few = 5
	said := make([]string, 0, few+1)
	for i, id := range ids {
		if i == few {
			said = append(said, "…")
			break
		}
		said = append(said, id.String())
	}
	return strings.Join(said, ", ")
}
