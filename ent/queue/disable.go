package queue

import (
	"context"
	"fmt"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	entstore "go.storefront.example/gen/ent/store"
)

// Health is what the failures of a webhook come to.
type Health struct {
	// Enabled is false for a webhook that is disabled or gone.
	Enabled bool
	// Exhausted means that nothing has succeeded there for so long that it is to be disabled.
	Exhausted bool
	epoch     int64
}

// HealthByWebhook reports of each webhook whether it is enabled, and exhausted: failing since its first
// failure in a row for the patience or longer. What is not in the answer is disabled or gone.
func (q *Queue) HealthByWebhook(ctx context.Context, webhooks []uuid.UUID, patience time.Duration) (map[uuid.UUID]Health, error) {
	healths, err := q.healths(ctx, q.db.Writer(), webhooks, patience)
	return healths, wrap("read the health of webhooks", err)
}

func (q *Queue) healths(ctx context.Context, on db.Querier, webhooks []uuid.UUID, patience time.Duration) (map[uuid.UUID]Health,
	error) {
	set, err := rowset(webhooks)
	if err != nil {
		return nil, err
	}
	healths := map[uuid.UUID]Health{}
	for row := range db.Rows(ctx, on, q.dialect.statements["health"], q.db.Moment(), patience.Milliseconds(), set) {
		var webhook uuid.UUID
		h := Health{Enabled: true}
		if err := row.Scan(&webhook, &h.Exhausted, &h.epoch); err != nil {
			return nil, err
		}
		healths[webhook] = h
	}
	return healths, nil
}

// worker is who the activity journal names for a webhook that its failures disabled.
var worker = tenant.Actor{Type: tenant.ActorOperator, Name: "automatic disabling"}

// Disable disables a webhook that is exhausted and cancels what waits for it, with the entry in
// the activity journal, all in one transaction. It reports whether it did. It leaves the webhook as it is
// after a success or a change in the meantime, and if its row is locked, because the results of other
// webhooks must not wait for that: the next failure disables it.
func (q *Queue) Disable(ctx context.Context, storeID, webhookID uuid.UUID, patience time.Duration) (disabled bool, err error) {
	row, err := q.db.Client().Store.Query().Where(entstore.ID(storeID)).Only(ctx)
	if err != nil {
		return false, fmt.Errorf("disable webhook %s: read its store: %w", webhookID, err)
	}
	ctx = tenant.With(ctx, tenant.Store{ID: row.ID, Slug: row.Slug, Currency: row.Currency, Country: row.Country}, worker)
	err = q.db.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		disabled = false
		w, err := lockWebhook(ctx, tx, q.db, storeID, webhookID, entsql.WithLockAction(entsql.SkipLocked))
		if ent.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read it: %w", err)
		}
		// By the same clock as before, now that the row is held.
		healths, err := q.healths(ctx, tx, []uuid.UUID{webhookID}, patience)
		if err != nil {
			return fmt.Errorf("read its health: %w", err)
		}
		if !healths[webhookID].Exhausted {
			return nil
		}
		if err := w.Update().SetEnabled(false).SetDisabledAt(hook.Time(ctx, w.ID)).SetDisabledAutomatically(true).Exec(
			ctx); err != nil {
			return fmt.Errorf("mark it: %w", err)
		}
		if err := Cancel(ctx, tx, storeID, webhookID); err != nil {
			return err
		}
		disabled = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("disable webhook %s: %w", webhookID, err)
	}
	return disabled, nil
}
