package notice

import (
	"context"
	"net/url"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
)

// Webhook is a webhook of a store that has failed since a time.
type Webhook struct {
	ID, StoreID      uuid.UUID
	URL, Description string
	FailingSince     time.Time
}

// about returns a notice of this type about the webhook.
func (w Webhook) about(kind string) Notice {
	return Notice{Type: kind, StoreID: w.StoreID, Data: map[string]any{"webhookId": w.ID, "host": host(w.URL), "description": w.Description,
		"failingSince": w.FailingSince}}
}

// host returns the host of a webhook's URL. The rest of the URL may hold a secret and must not be mailed.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// WriteDisabled writes the notice that the service has disabled a webhook, in the transaction tx that disables it.
func WriteDisabled(ctx context.Context, d *db.DB, tx fanout.Tx, at time.Time, w Webhook) error {
	return Write(ctx, d, tx, at, w.about(WebhookDisabled))
}

// WriteRecovered writes the notice that a webhook accepts events again, in the transaction tx that clears its failing_since. The
// caller has locked the webhook's row. It writes nothing if no sweep has seen the webhook fail for long, because then no notice
// has told of the failures.
func WriteRecovered(ctx context.Context, d *db.DB, tx fanout.Tx, at time.Time, w Webhook) error {
	if w.StoreID == NoStore || at.Sub(w.FailingSince) < failingSteps[0] {
		return nil
	}
	// Wait for a sweep that runs now: it may have seen the webhook as it was before this transaction.
	swept, err := lockMark(ctx, d, tx)
	if err != nil || w.FailingSince.Add(failingSteps[0]).After(swept) {
		return err
	}
	return Write(ctx, d, tx, at, w.about(WebhookRecovered))
}
