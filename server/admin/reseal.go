package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/seal"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/webhook"
	"go.storefront.example/server/webhooks"
	"go.storefront.example/worker/signature"
)

// resealBatch is small, because other changes of these webhooks wait until the transaction ends.
const resealBatch = 200

// resealPasses bounds ResealSecrets. A second pass reseals what a server sealed with an older key during the first.
const resealPasses = 3

// ResealProgress is the progress of resealing.
type ResealProgress struct {
	// Webhooks counts all webhooks, and Done the secrets that were resealed.
	Webhooks, Done int
	// Left counts the secrets that are still sealed with an older key. Unknown are those of them whose key is not in the
	// keyring.
	Left    int
	Unknown []seal.Sealed
}

// ResealSecrets reseals, in all stores, each signing secret that is not sealed with the current key. It calls report after each
// batch and each pass, and writes no journal entry.
//
// It may run while workers deliver and members rotate secrets, and may be run again: it changes only a secret that is as it
// read it. It skips and counts secrets whose key is not in the keyring. It fails with seal.ErrTampered.
func ResealSecrets(ctx context.Context, d *db.DB, secrets *seal.Keyring, report func(ResealProgress)) (progress ResealProgress,
	err error) {
	older := webhook.SecretKeyNEQ(secrets.Current())
	for range resealPasses {
		if progress.Webhooks, err = d.Client().Webhook.Query().Count(ctx); err != nil {
			return progress, fmt.Errorf("count webhooks: %w", err)
		}
		for after := uuid.Nil; ; {
			batch, err := d.Client().Webhook.Query().Where(webhook.IDGT(after), older).Order(webhook.ByID()).Limit(resealBatch).All(ctx)
			if err != nil {
				return progress, fmt.Errorf("read secrets: %w", err)
			}
			if len(batch) == 0 {
				report(progress)
				break
			}
			done, err := reseal(ctx, d, secrets, batch)
			if err != nil {
				return progress, fmt.Errorf("seal secrets anew: %w", err)
			}
			progress.Done += done
			after = batch[len(batch)-1].ID
			report(progress)
		}
		if progress.Left, err = d.Client().Webhook.Query().Where(older).Count(ctx); err != nil {
			return progress, fmt.Errorf("count secrets under other keys: %w", err)
		}
		if progress.Unknown, err = secrets.Unknown(ctx, d); err != nil {
			return progress, err
		}
		if progress.Left == 0 || len(progress.Unknown) > 0 {
			break
		}
	}
	return progress, nil
}

// reseal reseals a batch in one transaction. It skips secrets of unknown keys, and those that changed since they were read.
func reseal(ctx context.Context, d *db.DB, secrets *seal.Keyring, batch []*ent.Webhook) (done int, err error) {
	tx, err := d.Writer().BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	for _, row := range batch {
		plain, err := secrets.Open(row.Secret, row.SecretKey, row.ID[:])
		if errors.Is(err, seal.ErrUnknownKey) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("webhook %s: %w", row.ID, err)
		}
		secret, key := secrets.Seal(plain, row.ID[:])
		result, err := tx.ExecContext(ctx, `UPDATE webhooks SET secret = $1, secret_key = $2
 WHERE store_id = $3 AND id = $4 AND secret_key = $5 AND secret = $6`, secret, key, row.StoreID, row.ID, row.SecretKey, row.Secret)
		if err != nil {
			return 0, fmt.Errorf("webhook %s: %w", row.ID, err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		done += int(n)
	}
	return done, tx.Commit()
}

// ReplaceLostSecrets gives each webhook whose secret's key is not in the keyring a new secret, and calls replaced. The webhook of
// notices gets one that nobody knows, until a server or worker with --notices-secret sets it.
func ReplaceLostSecrets(ctx context.Context, d *db.DB, secrets *seal.Keyring, replaced func(webhook, secret string)) error {
	lost, err := secrets.Unknown(ctx, d)
	if err != nil {
		return err
	}
	o := New(d, Options{Webhooks: webhooks.Options{Secrets: secrets}})
	for _, l := range lost {
		if l.Store == notice.NoStore {
			sealed, key := secrets.Seal(signature.NewSecret(), l.Webhook[:])
			if _, err := d.Writer().ExecContext(ctx, "UPDATE webhooks SET secret = $1, secret_key = $2 WHERE store_id = $3 AND id = $4",
				sealed, key, l.Store, l.Webhook); err != nil {
				return fmt.Errorf("replace the secret of notices: %w", err)
			}
			continue
		}
		storeCtx, _, err := o.withExistingStore(ctx, l.Store.String())
		if err != nil {
			return err
		}
		made, err := o.webhooks.ReplaceSecret(storeCtx, l.Webhook.String())
		if err != nil {
			return fmt.Errorf("webhook %s: %w", l.Webhook, err)
		}
		replaced(made.ID.String(), made.Secret)
	}
	return nil
}
