package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/store"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// ListDeliveries returns the newest deliveries of a store that match, those to deleted webhooks
// included. It refuses with store_not_found and as shop.ListDeliveries does.
func (o *Operator) ListDeliveries(ctx context.Context, storeName string, which service.DeliverySearch) ([]queue.Entry, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListDeliveries(ctx, which)
}

// ListDeliveriesTo is ListDeliveries for the webhook that the search names. It refuses with
// webhook_not_found or validation_failed.
func (o *Operator) ListDeliveriesTo(ctx context.Context, which service.DeliverySearch) ([]queue.Entry, error) {
	return inWebhook(ctx, o, which.WebhookID, func(ctx context.Context) ([]queue.Entry, error) { return o.shop.ListDeliveries(ctx, which) })
}

// GetDelivery returns a delivery with its payload. It refuses with delivery_not_found.
func (o *Operator) GetDelivery(ctx context.Context, id string) (service.Delivery, error) {
	ctx, err := o.inDelivery(ctx, id)
	if err != nil {
		return service.Delivery{}, err
	}
	return o.shop.GetDelivery(ctx, id)
}

// ResendDelivery sends the event of a delivery that has ended again and returns the new delivery.
// It refuses as shop.ResendDelivery does.
func (o *Operator) ResendDelivery(ctx context.Context, id string) (queue.Entry, error) {
	ctx, err := o.inDelivery(ctx, id)
	if err != nil {
		return queue.Entry{}, err
	}
	return o.shop.ResendDelivery(ctx, id)
}

// StartResend orders to send to a webhook again every event since a time that never succeeded there;
// it is carried out by ContinueResend or, when nobody goes on with it for a while, by a worker. It
// refuses with webhook_not_found or webhook_disabled.
func (o *Operator) StartResend(ctx context.Context, webhookID string, since time.Time) (queue.Resend, error) {
	return inWebhook(ctx, o, webhookID, func(ctx context.Context) (queue.Resend, error) { return o.shop.ResendSince(ctx, webhookID, since) })
}

// ContinueResend carries out the next part of a resend and returns how far it is. It refuses with
// resend_not_found.
func (o *Operator) ContinueResend(ctx context.Context, job queue.Resend) (queue.Resend, error) {
	next, err := o.shop.ContinueResend(ctx, job)
	if errors.Is(err, queue.ErrNoResend) {
		return next, apierr.New(apierr.ResendNotFound, fmt.Sprintf("There is no resend with the id %q.", job.ID))
	}
	return next, err
}

// ResendSince carries out a whole resend. It refuses as StartResend does.
func (o *Operator) ResendSince(ctx context.Context, webhookID string, since time.Time, poll time.Duration, progress func(queue.Resend)) (queue.Resend, error) {
	return Resend(ctx, o, webhookID, since, poll, progress)
}

// Resender is what carries out resends part by part.
type Resender interface {
	StartResend(ctx context.Context, webhookID string, since time.Time) (queue.Resend, error)
	ContinueResend(ctx context.Context, job queue.Resend) (queue.Resend, error)
}

// Resend sends to a webhook again every event since a time that never succeeded there. It works
// until that is done and calls progress after each part. When it is given up half-way, a worker goes
// on with it. While another process is on it, it waits for that one's end, and looks every poll.
func Resend(ctx context.Context, r Resender, webhookID string, since time.Time, poll time.Duration, progress func(queue.Resend)) (queue.Resend, error) {
	job, err := r.StartResend(ctx, webhookID, since)
	for err == nil && !job.Finished {
		if job.Elsewhere {
			if err = pause(ctx, poll); err != nil {
				return job, err
			}
		}
		if job, err = r.ContinueResend(ctx, job); err == nil {
			progress(job)
		}
	}
	return job, err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inDelivery is In for the store that owns the delivery; a delivery that has ended refers to no
// other row, so that its own tells the store.
func (o *Operator) inDelivery(ctx context.Context, id string) (context.Context, error) {
	var owner uuid.UUID
	if parsed, err := uuid.Parse(id); err == nil {
		entry, err := queue.FindEntry(ctx, o.store, o.store.Reader(), parsed)
		if err != nil && !errors.Is(err, queue.ErrNoDelivery) {
			return nil, fmt.Errorf("find the owner of %s: %w", id, err)
		}
		owner = entry.StoreID
	}
	return o.inOwner(ctx, id, apierr.DeliveryNotFound, func(uuid.UUID) *ent.StoreQuery {
		return o.store.Client().Store.Query().Where(store.ID(owner))
	})
}
