package transfer

import (
	"encoding/hex"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/apikey"
	"go.storefront.example/gen/ent/webhook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/webhooks"
)

// webhookRows is a batch of an export's webhooks. Their secrets are sealed with this installation's key.
type webhookRows struct {
	batch[*ent.Webhook]
	webhooks *webhooks.Webhooks
}

func (b *webhookRows) read(p *problems, in *adminv1.ExportedWebhook) row[*ent.Webhook] {
	w := in.GetWebhook()
	l := row[*ent.Webhook]{id: p.RowID("webhook.id", w.GetId())}
	l.data = &ent.Webhook{ID: l.id, URL: w.GetUrl(), Description: w.GetDescription(), Events: w.GetEvents(),
		Enabled: w.GetState() != adminv1.Webhook_disabled, DisabledAutomatically: w.GetDisabledAutomatically() && w.GetState() == adminv1.Webhook_disabled,
		DisabledAt:   p.stateTime("webhook.disabledAt", w.GetDisabledAt(), w.GetState() == adminv1.Webhook_disabled),
		FailingSince: p.stateTime("webhook.failingSince", w.GetFailingSince(), w.GetState() == adminv1.Webhook_failing),
		CreatedAt:    p.requiredTime("webhook.createdAt", w.GetCreatedAt()), UpdatedAt: p.requiredTime("webhook.updatedAt",
			w.GetUpdatedAt())}
	p.requiredEnum("webhook.state", w.GetState())
	b.webhooks.CheckImported(&p.Problems, l.data, in.GetSecret())
	return l
}

func (b *webhookRows) plan(c *hook.Change) error {
	if _, err := b.sort(c, webhook.Table); err != nil {
		return err
	}
	count, err := c.Tx.Webhook.Query().Where(webhook.StoreID(b.t.ID)).Count(c)
	if err != nil {
		return fmt.Errorf("count webhooks: %w", err)
	}
	for _, l := range b.fresh {
		if count++; count > webhooks.Max {
			b.refuse(l.index, "", fmt.Sprintf("would be the %dth webhook of the store, which may have %d", count, webhooks.Max))
		}
	}
	return nil
}

func (b *webhookRows) store(c *hook.Change) error {
	creates := make([]*ent.WebhookCreate, len(b.fresh))
	for i, l := range b.fresh {
		r := l.data
		creates[i] = c.Tx.Webhook.Create().SetID(r.ID).SetStoreID(b.t.ID).SetURL(r.URL).SetDescription(r.Description).
			SetEvents(r.Events).SetSecret(r.Secret).SetSecretKey(r.SecretKey).SetEnabled(r.Enabled).SetNillableDisabledAt(r.DisabledAt).
			SetDisabledAutomatically(r.DisabledAutomatically).SetNillableFailingSince(r.FailingSince).
			SetCreatedAt(r.CreatedAt).SetUpdatedAt(r.UpdatedAt)
	}
	return c.Tx.Webhook.CreateBulk(creates...).Exec(c)
}

// keyRows is a batch of an export's API keys, of which it has only the fingerprints.
type keyRows struct{ batch[*ent.ApiKey] }

func (b *keyRows) read(p *problems, in *adminv1.ExportedKey) row[*ent.ApiKey] {
	k := in.GetKey()
	l := row[*ent.ApiKey]{id: p.RowID("key.id", k.GetId())}
	fingerprint, err := hex.DecodeString(in.GetFingerprint())
	if err != nil || len(fingerprint) != fingerprintBytes || hex.EncodeToString(fingerprint) != in.GetFingerprint() {
		p.Invalid("fingerprint", fmt.Sprintf("must be %d hexadecimal digits in lower case", 2*fingerprintBytes))
	}
	p.requiredEnum("key.status", k.GetStatus())
	l.data = &ent.ApiKey{ID: l.id, Fingerprint: fingerprint, Name: k.GetName(), Hint: k.GetHint(), Scopes: k.GetScopes(),
		ExpiresAt: p.Time("key.expiresAt", k.GetExpiresAt()), LastUsedAt: p.Time("key.lastUsedAt", k.GetLastUsedAt()),
		RevokedAt: p.stateTime("revokedAt", in.GetRevokedAt(), k.GetStatus() == adminv1.Key_revoked),
		CreatedAt: p.requiredTime("key.createdAt", k.GetCreatedAt())}
	if l.data.ExpiresAt != nil && !l.data.ExpiresAt.After(l.data.CreatedAt) {
		p.Invalid("key.expiresAt", "must be after createdAt")
	}
	shop.CheckImportedKey(&p.Problems, l.data)
	return l
}

const fingerprintBytes = 32

func (b *keyRows) plan(c *hook.Change) error {
	if _, err := b.sort(c, apikey.Table); err != nil {
		return err
	}
	fingerprints := make([][]byte, len(b.fresh))
	for i, l := range b.fresh {
		fingerprints[i] = l.data.Fingerprint
	}
	// Look in all stores: two keys must not have the same fingerprint, even if they are of different stores.
	others, err := c.Tx.ApiKey.Query().Where(apikey.FingerprintIn(fingerprints...)).All(c)
	if err != nil {
		return fmt.Errorf("look for fingerprints: %w", err)
	}
	taken := map[string]bool{}
	for _, other := range others {
		taken[string(other.Fingerprint)] = true
	}
	now := c.Time()
	active, err := shop.ActiveKeys(c, now)
	if err != nil {
		return err
	}
	for _, l := range b.fresh {
		if taken[string(l.data.Fingerprint)] {
			b.refuse(l.index, "fingerprint", "is another key's")
		}
		taken[string(l.data.Fingerprint)] = true
		if l.data.RevokedAt != nil || l.data.ExpiresAt != nil && !l.data.ExpiresAt.After(now) {
			continue
		}
		if active++; active > shop.MaxActiveKeys {
			b.refuse(l.index, "", fmt.Sprintf("would be the %dth active key of the store, which may have %d", active, shop.MaxActiveKeys))
		}
	}
	return nil
}

func (b *keyRows) store(c *hook.Change) error {
	creates := make([]*ent.ApiKeyCreate, len(b.fresh))
	for i, l := range b.fresh {
		r := l.data
		creates[i] = c.Tx.ApiKey.Create().SetID(r.ID).SetStoreID(b.t.ID).SetName(r.Name).SetFingerprint(r.Fingerprint).SetHint(r.Hint).
			SetScopes(r.Scopes).SetNillableExpiresAt(r.ExpiresAt).SetNillableRevokedAt(r.RevokedAt).SetNillableLastUsedAt(r.LastUsedAt).
			SetCreatedAt(r.CreatedAt)
	}
	err := c.Tx.ApiKey.CreateBulk(creates...).Exec(c)
	if db.IsUnique(err) { // another transaction has just stored a key with one of these fingerprints
		return apierr.Invalid("A key of the export is a key here already.", apijson.Field{Name: "fingerprint", Message: "is another key's"})
	}
	return err
}

// stateTime reads the time when a row entered a state: required in this state, refused in others.
func (p *problems) stateTime(field string, at *timestamppb.Timestamp, inState bool) *time.Time {
	if inState != (at != nil) {
		p.Invalid(field, "must be there in the state that it is the time of, and null in others")
	}
	return p.Time(field, at)
}
