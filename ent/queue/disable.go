package queue

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	entstore "go.storefront.example/gen/ent/store"
	"go.storefront.example/gen/ent/webhook"
)

// WebhookState decides whether a webhook gets more deliveries.
type WebhookState struct {
	// Enabled is false for a disabled or deleted webhook.
	Enabled bool
	// FailedTooLong is true if the webhook must be disabled.
	FailedTooLong bool
	epoch         int64
}

// Accepts is false for a delivery whose webhook is disabled, or was at any time since the delivery was made.
func (w WebhookState) Accepts(d Delivery) bool { return w.Enabled && d.Epoch == w.epoch }

// WebhookStates leaves out disabled and deleted webhooks. FailedTooLong is true if the first failure since the last success was
// at least disableAfter ago.
func (q *Queue) WebhookStates(ctx context.Context, webhooks []uuid.UUID, disableAfter time.Duration) (
	map[uuid.UUID]WebhookState, error) {
	states, err := q.webhookStates(ctx, q.db.Writer(), webhooks, disableAfter)
	return states, wrap("read the state of webhooks", err)
}

func (q *Queue) webhookStates(ctx context.Context, conn db.Querier, webhooks []uuid.UUID, disableAfter time.Duration) (
	map[uuid.UUID]WebhookState, error) {
	set, err := rowset(webhooks)
	if err != nil {
		return nil, err
	}
	states := map[uuid.UUID]WebhookState{}
	for row := range db.Rows(ctx, conn, q.dialect.statements["states"], q.db.TimeArg(), disableAfter.Milliseconds(), set) {
		var webhook uuid.UUID
		w := WebhookState{Enabled: true}
		if err := row.Scan(&webhook, &w.FailedTooLong, &w.epoch); err != nil {
			return nil, err
		}
		states[webhook] = w
	}
	return states, nil
}

// automaticDisabling is the journal's actor when the service itself disables a webhook.
var automaticDisabling = tenant.Actor{Type: tenant.ActorOperator, Name: "automatic disabling"}

// Disable disables a webhook whose first failure since its last success was at least disableAfter ago, with a journal entry,
// and cancels its deliveries. It returns false if the webhook is disabled already, or if another transaction has locked its
// row: waiting would delay the results of other webhooks, and after the next failure the worker tries again.
//
// The delivery journal decides whether there was a success, because Finish does not mark one while the row is locked. If there
// was one, Disable returns false and lets the failures begin now.
func (q *Queue) Disable(ctx context.Context, storeID, webhookID uuid.UUID, disableAfter time.Duration) (disabled bool,
	err error) {
	row, err := q.db.Client().Store.Query().Where(entstore.ID(storeID)).Only(ctx)
	if err != nil {
		return false, fmt.Errorf("disable webhook %s: read its store: %w", webhookID, err)
	}
	ctx = tenant.With(ctx, tenant.Store{ID: row.ID, Slug: row.Slug, Currency: row.Currency, Country: row.Country},
		automaticDisabling)
	disabled, err = hook.Answer(ctx, q.db, func(c *hook.Change) (bool, error) {
		w, err := hook.LockRow(c, c.Tx.Webhook.Query().Where(webhook.StoreID(storeID), webhook.ID(webhookID)), db.SkipLocked)
		if ent.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read it: %w", err)
		}
		// The state may have changed before the lock.
		states, err := q.webhookStates(c, c.Tx, []uuid.UUID{webhookID}, disableAfter)
		if err != nil {
			return false, fmt.Errorf("read its state: %w", err)
		}
		if !states[webhookID].FailedTooLong {
			return false, nil
		}
		succeeded, err := succeededSince(c, c.Tx, storeID, webhookID, *w.FailingSince)
		if err != nil {
			return false, fmt.Errorf("look for a success: %w", err)
		}
		if succeeded {
			return false, w.Update().SetFailingSince(c.Time(w.ID)).Exec(c)
		}
		if err := w.Update().SetEnabled(false).SetDisabledAt(c.Time(w.ID)).SetDisabledAutomatically(true).Exec(
			c); err != nil {
			return false, fmt.Errorf("mark it: %w", err)
		}
		if err := Cancel(c, storeID, webhookID); err != nil {
			return false, err
		}
		return true, notice.WriteDisabled(c, q.db, c.Tx, c.Time(webhookID), notice.Webhook{ID: webhookID, StoreID: storeID,
			URL: w.URL, Description: w.Description, FailingSince: *w.FailingSince})
	})
	if err != nil {
		return false, fmt.Errorf("disable webhook %s: %w", webhookID, err)
	}
	return disabled, nil
}

func succeededSince(ctx context.Context, tx db.Querier, storeID, webhookID uuid.UUID, since time.Time) (found bool, err error) {
	for row := range db.Rows(ctx, tx, shared["succeeded since"], storeID, webhookID, since) {
		err = row.Scan(&found)
	}
	return found, err
}

// Cancel cancels all deliveries to a webhook except those that a worker is attempting, and ends its resends. It raises the
// webhook's epoch and changes no delivery, so it takes the same time for any number; workers move them later. The caller has
// locked the webhook's row in tx, and disables or deletes the webhook there.
//
// A transaction that read the webhook before the change may still add deliveries. They have the old epoch, so they are
// cancelled too.
func Cancel(c *hook.Change, storeID, webhookID uuid.UUID) error {
	if _, err := c.Tx.ExecContext(c, "UPDATE webhooks SET epoch = epoch + 1 WHERE store_id = $1 AND id = $2", storeID,
		webhookID); err != nil {
		return fmt.Errorf("begin a new epoch: %w", err)
	}
	_, err := c.Tx.ExecContext(c, shared["stop resends"], c.Time(), storeID, webhookID)
	return wrap("end its resends", err)
}

// cancelBatch lets other writers wait for MoveCancelled about as long as for the transaction of a request.
const cancelBatch = 400

// CancelledDeliveries were made in one epoch of a webhook and still waited at its end.
type CancelledDeliveries struct {
	StoreID, WebhookID uuid.UUID
	Epoch              int64
}

// FindCancelled returns what MoveCancelled has to move.
func (q *Queue) FindCancelled(ctx context.Context) (found []CancelledDeliveries, err error) {
	for row := range db.Rows(ctx, q.db.Reader(), q.dialect.statements["cancelled"]) {
		var c CancelledDeliveries
		if err := row.Scan(&c.StoreID, &c.WebhookID, &c.Epoch); err != nil {
			return nil, wrap("look for cancelled deliveries", err)
		}
		found = append(found, c)
	}
	return found, nil
}

// MoveCancelled moves at most cancelBatch deliveries without a running lease to finished_deliveries. more is true if some may
// be left.
func (q *Queue) MoveCancelled(ctx context.Context, c CancelledDeliveries) (moved int, more bool, err error) {
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		n, err := q.dialect.exec(ctx, tx, "cancel", q.db.TimeArg(), c.StoreID, c.WebhookID, c.Epoch, cancelBatch)
		moved = int(n)
		return err
	})
	return moved, moved == cancelBatch, wrap("cancel", err)
}
