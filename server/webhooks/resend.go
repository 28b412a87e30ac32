package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// ResendDelivery sends a delivery again. If the delivery waits for its next attempt, the attempt becomes due now. If an
// attempt is due or running, nothing changes. If the delivery is finished, ResendDelivery creates a new delivery of the same
// event, which gets as many attempts as any other.
func (w *Webhooks) ResendDelivery(ctx context.Context, deliveryID string) (queue.Entry, error) {
	t, ended, err := validate.StoreAndID(ctx, deliveryID, deliveryNotFound)
	if err != nil {
		return queue.Entry{}, err
	}
	first, err := w.entryOf(ctx, t.ID, ended)
	if err != nil {
		return queue.Entry{}, err
	}
	if first.Status == queue.Pending {
		return w.sendNow(ctx, first)
	}
	webhookID := first.WebhookID.String()
	again, err := w.deliver(ctx, webhookID, func(c *hook.Change, row *ent.Webhook) (uuid.UUID, string, error) {
		// deliver has locked the webhook's row, so no other transaction creates a delivery to this webhook between this
		// search and the insert.
		waiting, err := queue.FindPending(c, t.ID, row.ID, first.EventID)
		if err == nil {
			return uuid.Nil, "", deliveryPending(waiting.ID)
		}
		if !errors.Is(err, queue.ErrNoDelivery) {
			return uuid.Nil, "", err
		}
		exists, err := c.Tx.Event.Query().Where(event.ID(first.EventID), event.StoreID(t.ID),
			event.PayloadNEQ([]byte(hook.Forgotten))).Exist(c)
		if err != nil {
			return uuid.Nil, "", fmt.Errorf("read event: %w", err)
		}
		if !exists {
			return uuid.Nil, "", apierr.New(apierr.EventExpired, "The delivery's event is kept no longer and cannot be sent again.")
		}
		recordResend(c, first)
		return first.EventID, first.EventType, nil
	})
	if apierr.Is(err, apierr.WebhookNotFound) {
		return queue.Entry{}, apierr.New(apierr.WebhookNotFound, "The delivery's webhook was deleted; it can be sent nowhere.")
	}
	return again, err
}

// recordResend journals that somebody sends a delivery again.
func recordResend(c *hook.Change, e queue.Entry) {
	c.Record("delivery.resent", "delivery", e.ID, hook.FieldChange{Field: "eventType", To: e.EventType},
		hook.FieldChange{Field: "webhookId", To: e.WebhookID.String()})
}

func deliveryPending(deliveryID uuid.UUID) error {
	return apierr.New(apierr.DeliveryPending,
		"The delivery "+deliveryID.String()+" of this event to this webhook is still pending; "+
			"resend that one to make its next attempt now.")
}

// sendNow makes the next attempt of a pending delivery due now.
func (w *Webhooks) sendNow(ctx context.Context, waiting queue.Entry) (queue.Entry, error) {
	entry, err := hook.Answer(ctx, w.db, func(c *hook.Change) (queue.Entry, error) {
		if err := queue.SendNow(c, waiting); err != nil {
			return queue.Entry{}, err
		}
		recordResend(c, waiting)
		return queue.FindEntry(c, c.DB, c.Tx, waiting.ID)
	})
	if err != nil {
		return queue.Entry{}, err
	}
	w.db.Announce()
	return entry, nil
}

// maxSentNow is how many deliveries one SendWaiting makes due at most.
const maxSentNow = 20 * queue.SendBatch

// SendWaiting makes the next attempts of a webhook's waiting deliveries due now, for at most maxSentNow deliveries, and returns
// the number of these deliveries.
func (w *Webhooks) SendWaiting(ctx context.Context, webhookID string) (sent int, err error) {
	for batch := queue.SendBatch; batch == queue.SendBatch && sent < maxSentNow; sent += batch {
		batch, err = hook.Answer(ctx, w.db, func(c *hook.Change) (int, error) {
			row, err := lockEnabled(c, webhookID)
			if err != nil {
				return 0, err
			}
			made, err := queue.SendWaiting(c, row.StoreID, row.ID)
			if made > 0 {
				c.Record("webhook.waiting_sent", "webhook", row.ID, hook.FieldChange{Field: "deliveries", To: int64(made)})
			}
			return made, err
		})
		if err != nil {
			return sent, err
		}
		w.db.Announce()
	}
	return sent, nil
}

// deliver locks a webhook, calls chooseEvent, and adds a delivery of the chosen event to the webhook.
func (w *Webhooks) deliver(ctx context.Context, webhookID string,
	chooseEvent func(c *hook.Change, row *ent.Webhook) (eventID uuid.UUID, eventType string, err error),
) (queue.Entry, error) {
	entry, err := hook.Answer(ctx, w.db, func(c *hook.Change) (queue.Entry, error) {
		row, err := lockEnabled(c, webhookID)
		if err != nil {
			return queue.Entry{}, err
		}
		eventID, eventType, err := chooseEvent(c, row)
		if err != nil {
			return queue.Entry{}, err
		}
		added := fanout.Delivery{
			ID: id.At(c.Time()), StoreID: row.StoreID, WebhookID: row.ID, EventID: eventID, EventType: eventType, Epoch: row.Epoch,
		}
		if _, err := fanout.Add(c, c.DB, c.Tx, c.Time(), []fanout.Delivery{added}); err != nil {
			return queue.Entry{}, fmt.Errorf("add a delivery: %w", err)
		}
		return queue.FindEntry(c, c.DB, c.Tx, added.ID)
	})
	if err != nil {
		return queue.Entry{}, err
	}
	w.db.Announce()
	return entry, nil
}

// ResendSince creates a resend job for a webhook. The job sends again every subscribed event since a time, even one that
// happened while the webhook was disabled. It leaves out an event if a delivery of this event to the webhook has succeeded.
// It also makes waiting deliveries to this webhook due.
//
// ResendSince sends nothing itself. The caller calls ContinueResend until the job is finished; if the caller stops, a worker
// continues. It refuses with webhook_not_found or webhook_disabled.
func (w *Webhooks) ResendSince(ctx context.Context, webhookID string, since time.Time) (queue.Resend, error) {
	since = wholeMilliseconds(since)
	return hook.Answer(ctx, w.db, func(c *hook.Change) (queue.Resend, error) {
		row, err := lockEnabled(c, webhookID)
		if err != nil {
			return queue.Resend{}, err
		}
		c.Record("webhook.resent", "webhook", row.ID, hook.FieldChange{Field: "sinceAt", To: since})
		return queue.OrderResend(c, row.StoreID, row.ID, since)
	})
}

// ContinueResend does the next step of a resend job, for a bounded number of events, and returns the job's progress.
func (w *Webhooks) ContinueResend(ctx context.Context, resendID uuid.UUID) (queue.Resend, error) {
	return queue.StepResend(ctx, w.db, resendID)
}

// CountUndelivered counts the events that ResendSince would send.
func (w *Webhooks) CountUndelivered(ctx context.Context, webhookID string, since time.Time) (queue.Undelivered, error) {
	row, err := w.GetWebhook(ctx, webhookID)
	if err != nil {
		return queue.Undelivered{}, err
	}
	if !row.Enabled {
		return queue.Undelivered{}, webhookDisabled()
	}
	return queue.CountUndelivered(ctx, w.db, row, wholeMilliseconds(since))
}

// wholeMilliseconds rounds a time up to whole milliseconds, which the database stores. No event is lost, because events have
// whole milliseconds too.
func wholeMilliseconds(since time.Time) time.Time {
	return since.Add(time.Millisecond - time.Nanosecond).UTC().Truncate(time.Millisecond)
}
