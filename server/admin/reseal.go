package admin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
)

// resealBatch is how many secrets one transaction seals again. It then takes no longer than a request, and
// so long do workers and other changes of the same webhooks wait.
const resealBatch = 200

// resealPasses is the most passes through the webhooks: each also seals secrets that were changed during
// the one before.
const resealPasses = 3

// Resealed is how far sealing anew has come.
type Resealed struct {
	// Webhooks is how many there are, and Done how many secrets were sealed anew.
	Webhooks, Done int
	// Left is how many secrets are sealed under another key than the current one, and Unknown the
	// ids of those of their keys that the ring does not hold, sorted.
	Left    int
	Unknown []string
}

// ResealSecrets seals with the ring's current key all signing secrets, of all stores, that are sealed with
// another one, in batches ordered by id. Secrets and webhooks stay the same, so the journal has no entry
// of it. It calls report after each batch.
//
// It is safe while workers deliver and members rotate secrets: it changes a row only if that still holds
// the secret that it opened, and writes secret and key id together. If it is interrupted, a second run
// continues with the rest. It leaves and counts secrets whose key the ring does not have. It fails with
// seal.ErrTampered.
func ResealSecrets(ctx context.Context, d *db.DB, secrets *seal.Ring, report func(Resealed)) (Resealed, error) {
	s := resealer{d, secrets}
	var so Resealed
	current := secrets.Current()
	for range resealPasses {
		if err := s.db.Reader().QueryRowContext(ctx, `SELECT count(*) FROM webhooks`).Scan(&so.Webhooks); err != nil {
			return so, fmt.Errorf("count webhooks: %w", err)
		}
		after, more := uuid.Nil, true
		for more {
			last, done, err := s.resealAfter(ctx, after, current)
			if err != nil {
				return so, fmt.Errorf("seal secrets anew: %w", err)
			}
			so.Done += done
			after, more = last, last != uuid.Nil
			report(so)
		}
		if err := s.countLeft(ctx, current, &so); err != nil {
			return so, fmt.Errorf("count secrets under other keys: %w", err)
		}
		if so.Left == 0 || len(so.Unknown) > 0 {
			break
		}
	}
	return so, nil
}

// resealer seals secrets again.
type resealer struct {
	db      *db.DB
	secrets *seal.Ring
}

// sealed is a secret as a row holds it.
type sealed struct {
	webhook, store uuid.UUID
	secret         []byte
	key            string
}

// resealAfter seals the batch that follows an id and returns its last id, or uuid.Nil at the end.
func (s resealer) resealAfter(ctx context.Context, after uuid.UUID, current string) (last uuid.UUID, done int, err error) {
	batch, err := s.sealedAfter(ctx, after, current)
	if err != nil || len(batch) == 0 {
		return uuid.Nil, 0, err
	}
	tx, err := s.db.Writer().BeginTx(ctx, nil)
	if err != nil {
		return uuid.Nil, 0, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	for _, row := range batch {
		n, err := s.reseal(ctx, tx, row)
		if err != nil {
			return uuid.Nil, 0, fmt.Errorf("webhook %s: %w", row.webhook, err)
		}
		done += n
	}
	if err := tx.Commit(); err != nil {
		return uuid.Nil, 0, err
	}
	return batch[len(batch)-1].webhook, done, nil
}

func (s resealer) sealedAfter(ctx context.Context, after uuid.UUID, current string) ([]sealed, error) {
	var batch []sealed
	for row := range db.Rows(ctx, s.db.Reader(), `SELECT id, store_id, secret, secret_key FROM webhooks
 WHERE id > $1 AND secret_key <> $2 ORDER BY id LIMIT $3`, after, current, resealBatch) {
		var one sealed
		if err := row.Scan(&one.webhook, &one.store, &one.secret, &one.key); err != nil {
			return nil, err
		}
		batch = append(batch, one)
	}
	return batch, nil
}

// reseal returns how many rows it changed: none when the key is not known or the row has changed.
func (s resealer) reseal(ctx context.Context, tx *sql.Tx, row sealed) (int, error) {
	plain, err := s.secrets.Open(row.secret, row.key, row.webhook[:])
	if errors.Is(err, seal.ErrUnknownKey) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	secret, key := s.secrets.Seal(plain, row.webhook[:])
	result, err := tx.ExecContext(ctx, `UPDATE webhooks SET secret = $1, secret_key = $2
 WHERE store_id = $3 AND id = $4 AND secret_key = $5 AND secret = $6`, secret, key, row.store, row.webhook, row.key, row.secret)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// countLeft notes what is not under the current key.
func (s resealer) countLeft(ctx context.Context, current string, so *Resealed) error {
	so.Left, so.Unknown = 0, nil
	for row := range db.Rows(ctx, s.db.Reader(),
		`SELECT secret_key, count(*) FROM webhooks WHERE secret_key <> $1 GROUP BY secret_key`, current) {
		var key string
		var n int
		if err := row.Scan(&key, &n); err != nil {
			return err
		}
		so.Left += n
		if !s.secrets.Has(key) {
			so.Unknown = append(so.Unknown, key)
		}
	}
	slices.Sort(so.Unknown)
	return nil
}
