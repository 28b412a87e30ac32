package webhooks

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/seal"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/webhook"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

// UpdateWebhook changes the named fields of a webhook. Attempts that begin after the commit use the new values.
func (w *Webhooks) UpdateWebhook(ctx context.Context, in *adminv1.UpdateWebhookRequest) (*ent.Webhook, error) {
	p := &validate.Problems{}
	named := shop.NamedOf(p, resource.WebhookFields, "", in)
	if named.Has("events") {
		named.Values.Events = eventTypes(p, "events", named.Values.Events)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	named.Values.URL = egress.EscapeURL(named.Values.URL)
	return hook.Answer(ctx, w.db, func(c *hook.Change) (*ent.Webhook, error) {
		row, err := lockWebhook(c, in.GetId())
		if err != nil {
			return nil, err
		}
		next := named.Applied(row)
		if next.URL != row.URL {
			if err := w.checkTarget(next.URL); err != nil {
				return nil, err
			}
		}
		return shop.Save(c, resource.WebhookFields, row, &next, row.Update())
	})
}

// EnableWebhook enables a webhook and forgets its failures. The webhook receives the events that happen after the commit. If it
// is already enabled, nothing changes.
func (w *Webhooks) EnableWebhook(ctx context.Context, id string) (*ent.Webhook, error) {
	return hook.Answer(ctx, w.db, func(c *hook.Change) (*ent.Webhook, error) {
		row, err := lockWebhook(c, id)
		if err != nil || row.Enabled {
			return row, err
		}
		return row.Update().SetEnabled(true).ClearDisabledAt().SetDisabledAutomatically(false).ClearFailingSince().Save(c)
	})
}

// DisableWebhook disables a webhook, which then receives nothing until it is enabled again. The commit cancels all its
// deliveries except those that a worker is attempting (queue.Cancel). If it is already disabled, nothing changes.
func (w *Webhooks) DisableWebhook(ctx context.Context, id string) (*ent.Webhook, error) {
	return hook.Answer(ctx, w.db, func(c *hook.Change) (*ent.Webhook, error) {
		row, err := lockWebhook(c, id)
		if err != nil || !row.Enabled {
			return row, err
		}
		row, err = row.Update().SetEnabled(false).SetDisabledAt(c.Time(row.ID)).SetDisabledAutomatically(false).
			ClearFailingSince().Save(c)
		if err != nil {
			return nil, err
		}
		return row, queue.Cancel(c, row.StoreID, row.ID)
	})
}

// DeleteWebhook deletes a webhook and returns it as it was. It cancels deliveries as DisableWebhook does. Finished deliveries
// can be read until the retention ends.
func (w *Webhooks) DeleteWebhook(ctx context.Context, id string) (*ent.Webhook, error) {
	return hook.Answer(ctx, w.db, func(c *hook.Change) (*ent.Webhook, error) {
		row, err := lockWebhook(c, id)
		if err != nil {
			return nil, err
		}
		if err := c.Tx.Webhook.DeleteOne(row).Where(webhook.StoreID(row.StoreID)).Exec(c); err != nil {
			return nil, err
		}
		return row, queue.Cancel(c, row.StoreID, row.ID)
	})
}

// RotateSecret gives a webhook a new signing secret, with which all later attempts are signed. With tenant.WithIdempotencyKey
// it does so once for each idempotency key.
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
	return hook.Answer(ctx, w.db, func(c *hook.Change) (made SecretWebhook, err error) {
		row, err := lockWebhook(c, id)
		if err != nil {
			return made, err
		}
		if err := shop.ClaimIdempotencyKey(c, "webhook.rotate"); err != nil {
			return made, err
		}
		secret := signature.NewSecret()
		sealed, key := ring.Seal(secret, row.ID[:])
		c.Record("webhook.secret_rotated", "webhook", row.ID)
		row, err = row.Update().SetSecret(sealed).SetSecretKey(key).SetUpdatedAt(c.Time(row.ID)).Save(c)
		return SecretWebhook{row, secret}, err
	})
}

// lockWebhook locks the row of the store's webhook with this id.
func lockWebhook(c *hook.Change, id string) (*ent.Webhook, error) {
	parsed, ok := validate.ParseID(id)
	if !ok {
		return nil, webhookNotFound()
	}
	row, err := hook.LockRow(c, c.Tx.Webhook.Query().Where(webhook.StoreID(c.Store.ID), webhook.ID(parsed)))
	return row, apierr.RowError("webhook", err, webhookNotFound)
}

// lockEnabled locks as lockWebhook does, and refuses with webhook_disabled too.
func lockEnabled(c *hook.Change, id string) (*ent.Webhook, error) {
	row, err := lockWebhook(c, id)
	if err == nil && !row.Enabled {
		err = webhookDisabled()
	}
	return row, err
}
