package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
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

// Max is how many webhooks a store may have, disabled ones included (specification,
// Limits).
const Max = 5

// maxDescriptionRunes is how many characters a webhook's description may have.
var maxDescriptionRunes = validate.MaxOf("storefront.admin.v1.UpdateWebhookRequest.description")

// Registration is a webhook to create.
type Registration struct {
	URL         string
	Description string
	// Events are some of hook.EventTypes; none means all.
	Events []string
}

// SecretWebhook is a webhook with its new signing secret in clear; the database has it encrypted.
type SecretWebhook struct {
	*ent.Webhook
	Secret string
}

// CreateWebhook creates a webhook with a new signing secret. With tenant.WithIdempotencyKey it creates one webhook for each
// idempotency key.
func (w *Webhooks) CreateWebhook(ctx context.Context, d Registration) (SecretWebhook, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return SecretWebhook{}, err
	}
	p := &validate.Problems{}
	description := p.Text("description", d.Description, maxDescriptionRunes)
	events := hook.EventTypes()
	if len(d.Events) > 0 {
		events = eventTypes(p, "events", d.Events)
	}
	if err := p.Err(); err != nil {
		return SecretWebhook{}, err
	}
	d.URL = egress.EscapeURL(d.URL)
	if err := w.checkTarget(d.URL); err != nil {
		return SecretWebhook{}, err
	}
	ring, err := w.Sealer(ctx)
	if err != nil {
		return SecretWebhook{}, err
	}
	return hook.Answer(ctx, w.db, func(c *hook.Change) (made SecretWebhook, err error) {
		if err := shop.ClaimIdempotencyKey(c, "webhook.create"); err != nil {
			return made, err
		}
		if _, err := shop.LockStore(c); err != nil { // so that two transactions cannot both create the fifth webhook
			return made, err
		}
		count, err := c.Tx.Webhook.Query().Where(webhook.StoreID(t.ID)).Count(c)
		if err != nil {
			return made, fmt.Errorf("count webhooks: %w", err)
		}
		if count >= Max {
			return made, apierr.New(apierr.WebhookLimit, fmt.Sprintf("The store has %d webhooks, which is the limit; delete one first.", count))
		}
		now, secret := c.Time(), signature.NewSecret()
		webhookID := id.At(now)
		sealed, key := ring.Seal(secret, webhookID[:])
		row, err := c.Tx.Webhook.Create().SetID(webhookID).SetStoreID(t.ID).SetURL(d.URL).SetDescription(description).SetEvents(events).
			SetSecret(sealed).SetSecretKey(key).SetCreatedAt(now).SetUpdatedAt(now).Save(c)
		if err != nil {
			return made, fmt.Errorf("create webhook: %w", err)
		}
		return SecretWebhook{row, secret}, nil
	})
}

// CheckImported checks a webhook that an adminv1.ExportedWebhook describes. It refuses values that a webhook made by
// CreateWebhook cannot have. It converts description and events to their stored form, and seals the secret: the caller has
// checked that Sealer returns a keyring.
func (w *Webhooks) CheckImported(p *validate.Problems, row *ent.Webhook, secret string) {
	row.Description = p.Text("webhook.description", row.Description, maxDescriptionRunes)
	row.Events = eventTypes(p, "webhook.events", row.Events)
	row.URL = egress.EscapeURL(row.URL)
	if err := egress.CheckURL(row.URL, w.options.Targets); err != nil {
		p.Invalid("webhook.url", err.Error())
	}
	if !signature.IsSecret(secret) {
		p.Invalid("secret", "must be a signing secret, "+signature.SecretPrefix+"…")
	}
	row.Secret, row.SecretKey = w.options.Secrets.Seal(secret, row.ID[:])
}

// Secret returns the signing secret of a webhook in clear. It refuses if this process lacks the key that sealed it.
func (w *Webhooks) Secret(row *ent.Webhook) (string, error) {
	if w.options.Secrets == nil {
		return "", secretKeyMissing()
	}
	secret, err := w.options.Secrets.Open(row.Secret, row.SecretKey, row.ID[:])
	if errors.Is(err, seal.ErrUnknownKey) {
		return "", apierr.New(apierr.SecretKeyMissing, fmt.Sprintf("The secret of the webhook %s is encrypted under another key than "+
			"--secret-key: its id is %s. Name that key with --old-secret-keys.", row.ID, row.SecretKey))
	}
	if err != nil {
		return "", fmt.Errorf("open the secret of the webhook %s: %w", row.ID, err)
	}
	return secret, nil
}

// GetWebhook returns a webhook of the store.
func (w *Webhooks) GetWebhook(ctx context.Context, id string) (*ent.Webhook, error) {
	t, webhookID, err := validate.StoreAndID(ctx, id, webhookNotFound)
	if err != nil {
		return nil, err
	}
	row, err := w.db.Client().Webhook.Query().Where(webhook.StoreID(t.ID), webhook.ID(webhookID)).Only(ctx)
	if err := apierr.RowError("webhook", err, webhookNotFound); err != nil {
		return nil, err
	}
	return row, nil
}

// eventTypes refuses an empty list, and event types to which no webhook can subscribe. It returns the other types once each,
// in the order of the specification.
func eventTypes(p *validate.Problems, field string, types []string) []string {
	for _, name := range types {
		if !slices.Contains(hook.EventTypes(), name) {
			p.Invalid(field, fmt.Sprintf("must be one of %s, not %q", strings.Join(hook.EventTypes(), ", "), name))
		}
	}
	if len(types) == 0 {
		p.Invalid(field, "must name at least one of "+strings.Join(hook.EventTypes(), ", "))
	}
	return slices.DeleteFunc(hook.EventTypes(), func(name string) bool { return !slices.Contains(types, name) })
}

// checkTarget refuses a URL that no webhook may have. It checks the text, and makes no DNS query.
func (w *Webhooks) checkTarget(url string) error {
	err := egress.CheckURL(url, w.options.Targets)
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*egress.URLError](err); ok {
		return apierr.New(apierr.WebhookURLInvalid, "The webhook's URL "+bad.Reason+".")
	}
	return fmt.Errorf("check the webhook's URL: %w", err)
}

func secretKeyMissing() error {
	return apierr.New(apierr.SecretKeyMissing,
		"There is no secret key to keep webhook secrets with; set --secret-key to what `storefront secret generate` prints.")
}

// Sealer returns the keyring that seals signing secrets. It refuses a keyring whose current key is not the one of the stored
// secrets.
func (w *Webhooks) Sealer(ctx context.Context) (*seal.Keyring, error) {
	if w.options.Secrets == nil {
		return nil, secretKeyMissing()
	}
	err := w.options.Secrets.CheckStored(ctx, w.db)
	if errors.Is(err, seal.ErrUnknownKey) {
		return nil, apierr.New(apierr.SecretKeyMissing, fmt.Sprintf("Nothing is encrypted with another secret key than the stored "+
			"secrets have (%v). Set --secret-key to their key, or name that key in --old-secret-keys; if it is lost, "+
			"`storefront secret rotate --replace-lost` makes new secrets.", err))
	}
	return w.options.Secrets, err
}

func webhookNotFound() error {
	return apierr.New(apierr.WebhookNotFound, "There is no webhook with this id.")
}

func webhookDisabled() error {
	return apierr.New(apierr.WebhookDisabled, "The webhook is disabled; enable it first.")
}
