package webhooks

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/webhook"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

// UpdateWebhook changes the named fields of a webhook. Attempts that begin after the commit use the new values. It refuses
// with webhook_not_found, validation_failed or webhook_url_invalid.
func (w *Webhooks) UpdateWebhook(ctx context.Context, in *adminv1.UpdateWebhookRequest) (*ent.Webhook, error) {
	p := &validate.Problems{}
	c := shop.ChangeOf(p, resource.WebhookFields, in, "")
	if c.Has("events") {
		c.Values.Events = eventTypes(p, "events", c.Values.Events)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	c.Values.URL = egress.EscapeURL(c.Values.URL)
	return w.changeWebhook(ctx, in.GetId(), func(ctx context.Context, _ *ent.Tx, row *ent.Webhook) (*ent.Webhook, error) {
		next := c.Applied(row)
		if next.URL != row.URL {
			if err := w.checkTarget(next.URL); err != nil {
				return nil, err
			}
		}
		u := row.Update()
		return shop.Save(ctx, resource.WebhookFields, row, &next, u.Mutation(), u)
	})
}

// EnableWebhook enables a webhook and forgets its failures. The webhook receives the events that happen after the commit. If
// it is already enabled, nothing changes. It refuses with webhook_not_found.
func (w *Webhooks) EnableWebhook(ctx context.Context, id string) (*ent.Webhook, error) {
	return w.changeWebhook(ctx, id, func(ctx context.Context, _ *ent.Tx, row *ent.Webhook) (*ent.Webhook, error) {
		if row.Enabled {
			return row, nil
		}
		return row.Update().SetEnabled(true).ClearDisabledAt().SetDisabledAutomatically(false).ClearFailingSince().
			SetNoticeLevel(0).Save(ctx)
	})
}

// DisableWebhook disables a webhook, which then receives nothing until it is enabled again. The commit cancels all its
// deliveries except those that a worker is attempting (queue.Cancel). If it is already disabled, nothing changes. It refuses
// with webhook_not_found.
func (w *Webhooks) DisableWebhook(ctx context.Context, id string) (*ent.Webhook, error) {
	return w.changeWebhook(ctx, id, func(ctx context.Context, tx *ent.Tx, row *ent.Webhook) (*ent.Webhook, error) {
		if !row.Enabled {
			return row, nil
		}
		row, err := row.Update().SetEnabled(false).SetDisabledAt(hook.Time(ctx, row.ID)).SetDisabledAutomatically(false).
			ClearFailingSince().SetNoticeLevel(0).Save(ctx)
		if err != nil {
			return nil, err
		}
		return row, queue.Cancel(ctx, tx, row.StoreID, row.ID)
	})
}

// DeleteWebhook deletes a webhook and returns it as it was. It cancels deliveries as DisableWebhook does. Finished
// deliveries can be read until the retention ends. It refuses with webhook_not_found.
func (w *Webhooks) DeleteWebhook(ctx context.Context, id string) (*ent.Webhook, error) {
	return w.changeWebhook(ctx, id, func(ctx context.Context, tx *ent.Tx, row *ent.Webhook) (*ent.Webhook, error) {
		if err := tx.Webhook.DeleteOne(row).Where(webhook.StoreID(row.StoreID)).Exec(ctx); err != nil {
			return nil, err
		}
		return row, queue.Cancel(ctx, tx, row.StoreID, row.ID)
	})
}

// RotateSecret gives a webhook a new signing secret, with which all later attempts are signed. With tenant.WithIdempotencyKey
// it does so once for each idempotency key. It refuses with webhook_not_found, secret_key_missing or idempotency_key_reused.
func (w *Webhooks) RotateSecret(ctx context.Context, id string) (SecretWebhook, error) {
	ring, err := w.Sealer(ctx)
	if err != nil {
		return SecretWebhook{}, err
	}
	return w.rotateSecret(ctx, id, ring)
}

// ReplaceSecret does the same as RotateSecret, also if the keyring's current key is another one than the stored secrets have.
func (w *Webhooks) ReplaceSecret(ctx context.Context, id string) (SecretWebhook, error) {
	if w.options.Secrets == nil {
		return SecretWebhook{}, secretKeyMissing()
	}
	return w.rotateSecret(ctx, id, w.options.Secrets)
}

func (w *Webhooks) rotateSecret(ctx context.Context, id string, ring *seal.Keyring) (SecretWebhook, error) {
	secret := signature.NewSecret()
	row, err := w.changeWebhook(ctx, id, func(ctx context.Context, tx *ent.Tx, row *ent.Webhook) (*ent.Webhook, error) {
		if err := shop.ClaimIdempotencyKey(ctx, w.db, tx, row.StoreID, "webhook.rotate"); err != nil {
			return nil, err
		}
		sealed, key := ring.Seal(secret, row.ID[:])
		hook.Record(ctx, "webhook.secret_rotated", "webhook", row.ID)
		return row.Update().SetSecret(sealed).SetSecretKey(key).SetUpdatedAt(hook.Time(ctx, row.ID)).Save(ctx)
	})
	if err != nil {
		return SecretWebhook{}, err
	}
	return SecretWebhook{row, secret}, nil
}

// changeWebhook locks the store's webhook with this id and runs change in the same transaction. It refuses with
// webhook_not_found and as change does.
func (w *Webhooks) changeWebhook(
	ctx context.Context, id string, change func(context.Context, *ent.Tx, *ent.Webhook) (*ent.Webhook, error),
) (*ent.Webhook, error) {
	row, _, err := shop.ChangeRow(ctx, w.db, id, webhookNotFound, lockWebhook,
		func(ctx context.Context, tx *ent.Tx, _ tenant.Store, row *ent.Webhook) (*ent.Webhook, error) {
			return change(ctx, tx, row)
		})
	return row, err
}

func lockWebhook(ctx context.Context, tx *ent.Tx, t tenant.Store, id uuid.UUID) (*ent.Webhook, error) {
	row, err := hook.LockRow(ctx, tx.Webhook.Query().Where(webhook.StoreID(t.ID), webhook.ID(id)))
	return row, apierr.RowError("webhook", err, webhookNotFound)
}
