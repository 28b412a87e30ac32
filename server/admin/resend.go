package admin

import (
	"context"
	"errors"
	"fmt"
	"math"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	"go.storefront.example/server/validate"
)

func resendMessage(r queue.Resend) *adminv1.Resend {
	m := &adminv1.Resend{
		Id: r.ID.String(), WebhookId: r.WebhookID.String(), Since: apijson.Timestamp(r.Since),
		Resent: int32(min(r.Resent, math.MaxInt32)), State: adminv1.Resend_running, //nolint:gosec // min bounds the number.
	}
	switch {
	case r.Stopped:
		m.State = adminv1.Resend_stopped
	case r.Finished:
		m.State = adminv1.Resend_finished
	}
	return m
}

// StartResend creates a job that sends a webhook every event since a time that was not delivered to it. ContinueResend, or a
// worker, runs it.
func (o *Operator) StartResend(ctx context.Context, in *adminv1.StartResendRequest) (*adminv1.Resend, error) {
	var refused problems
	if in.GetSince().CheckValid() != nil {
		refused.Invalid("since", "must be an RFC 3339 date-time of the years 1 to 9999")
	}
	if err := refused.Err(); err != nil {
		return nil, err
	}
	ctx, err := o.withRowStore(ctx, webhookKind, in.GetStore(), in.GetWebhookId())
	if err != nil {
		return nil, err
	}
	if in.GetDryRun() {
		n, err := o.webhooks.CountUndelivered(ctx, in.GetWebhookId(), in.GetSince().AsTime())
		if err != nil {
			return nil, err
		}
		return &adminv1.Resend{WebhookId: in.GetWebhookId(), Since: in.GetSince(), Events: int32(n.Events), //nolint:gosec // MaxUndelivered bounds them.
			EventsBeforeWebhook: int32(n.Older)}, nil //nolint:gosec // MaxUndelivered bounds it.
	}
	job, err := o.webhooks.ResendSince(ctx, in.GetWebhookId(), in.GetSince().AsTime())
	if err != nil {
		return nil, err
	}
	return resendMessage(job), nil
}

// ContinueResend does the next step of a resend job.
func (o *Operator) ContinueResend(ctx context.Context, in *adminv1.ContinueResendRequest) (*adminv1.Resend, error) {
	id, ok := validate.ParseID(in.GetId())
	if !ok {
		return nil, resendKind.notFound(in.GetId())
	}
	ctx, err := o.withOptionalStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	if t, _, ok := tenant.From(ctx); ok {
		if owned, err := o.db.Client().Store.Query().Where(store.ID(t.ID), resendKind.owner(id)).Exist(ctx); err != nil {
			return nil, fmt.Errorf("find a resend: %w", err)
		} else if !owned {
			return nil, resendKind.notFound(in.GetId())
		}
	}
	job, err := o.webhooks.ContinueResend(ctx, id)
	if errors.Is(err, queue.ErrNoResend) {
		return nil, resendKind.notFound(in.GetId())
	}
	if err != nil {
		return nil, err
	}
	return resendMessage(job), nil
}

// SendWaiting makes a bounded number of a webhook's waiting deliveries due now, and returns how many. The context must have the
// store (see WithStore).
func (o *Operator) SendWaiting(ctx context.Context, webhookID string) (int, error) {
	return o.webhooks.SendWaiting(ctx, webhookID)
}

// Retries counts the deliveries to a webhook that wait for another attempt. The context must have the store (see WithStore).
func (o *Operator) Retries(ctx context.Context, webhookID string) (queue.Retries, error) {
	t, id, err := validate.StoreAndID(ctx, webhookID, func() error { return webhookKind.notFound(webhookID) })
	if err != nil {
		return queue.Retries{}, err
	}
	return queue.ReadRetries(ctx, o.db, t.ID, id)
}

// Resend runs a resend job to its end, and calls report after each step. If the caller stops, a worker continues.
func Resend(ctx context.Context, o adminv1connect.DeliveryServiceClient, in *adminv1.StartResendRequest,
	report func(*adminv1.Resend)) (*adminv1.Resend, error) {
	job, err := o.StartResend(ctx, in)
	for err == nil && job.GetState() == adminv1.Resend_running {
		if job, err = o.ContinueResend(ctx, &adminv1.ContinueResendRequest{Id: job.GetId(), Store: in.GetStore()}); err == nil {
			report(job)
		}
	}
	return job, err
}
