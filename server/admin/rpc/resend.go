package rpc

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/wire"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
)

// resendMessage is how far a resend is. The hold is compared by the database to the microsecond,
// which a JSON date-time does not tell, so that it travels as a text of its own.
func resendMessage(r queue.Resend) *adminv1.Resend {
	m := &adminv1.Resend{
		Id: r.ID.String(), WebhookId: r.WebhookID.String(), Since: wire.Timestamp(r.Since),
		Resent:   int32(min(r.Resent, math.MaxInt32)), //nolint:gosec // No more than fit.
		Finished: r.Finished, Elsewhere: r.Elsewhere, Stopped: r.Stopped,
	}
	if !r.Hold.IsZero() {
		m.Hold = r.Hold.UTC().Format(time.RFC3339Nano)
	}
	return m
}

// resendOf is what resendMessage made a message of.
func resendOf(m *adminv1.Resend) (queue.Resend, error) {
	var r ids
	job := queue.Resend{
		ID: r.read(m.GetId()), WebhookID: r.read(m.GetWebhookId()), Since: m.GetSince().AsTime(), Resent: int(m.GetResent()),
		Finished: m.GetFinished(), Elsewhere: m.GetElsewhere(), Stopped: m.GetStopped(),
	}
	if hold, err := holdOf(m.GetHold()); err == nil {
		job.Hold = hold
	}
	return job, r.err
}

func holdOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339Nano, text)
}

// answerResend is the answer of an operation that ends with a resend.
func answerResend(r queue.Resend, err error) (*adminv1.Resend, error) {
	if err != nil {
		return nil, err
	}
	return resendMessage(r), nil
}

// StartResend serves DeliveryService.StartResend.
func (s handlers) StartResend(ctx context.Context, in *adminv1.StartResendRequest) (*adminv1.Resend, error) {
	var f fields
	if in.GetSince().CheckValid() != nil {
		f.refuse("since", "must be an RFC 3339 date-time of the years 1 to 9999")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return answerResend(s.operator.StartResend(ctx, in.GetWebhookId(), in.GetSince().AsTime()))
}

// ContinueResend serves DeliveryService.ContinueResend.
func (s handlers) ContinueResend(ctx context.Context, in *adminv1.ContinueResendRequest) (*adminv1.Resend, error) {
	id, err := uuid.Parse(in.GetId())
	if err != nil {
		return nil, apierr.New(apierr.ResendNotFound, "There is no resend with this id.")
	}
	var f fields
	hold, err := holdOf(in.GetHold())
	if err != nil {
		f.refuse("hold", "must be that of the answer before")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return answerResend(s.operator.ContinueResend(ctx, queue.Resend{ID: id, Hold: hold}))
}

// StartResend is admin.Operator's.
func (c *Client) StartResend(ctx context.Context, webhookID string, since time.Time) (queue.Resend, error) {
	out, err := c.deliveries.StartResend(ctx, &adminv1.StartResendRequest{WebhookId: webhookID, Since: timestamppb.New(since)})
	return read(c, out, err, resendOf)
}

// ContinueResend is admin.Operator's.
func (c *Client) ContinueResend(ctx context.Context, job queue.Resend) (queue.Resend, error) {
	out, err := c.deliveries.ContinueResend(ctx, &adminv1.ContinueResendRequest{Id: job.ID.String(), Hold: resendMessage(job).GetHold()})
	return read(c, out, err, resendOf)
}

// ResendSince is admin.Operator's.
func (c *Client) ResendSince(ctx context.Context, webhookID string, since time.Time, poll time.Duration, progress func(queue.Resend)) (queue.Resend, error) {
	return admin.Resend(ctx, c, webhookID, since, poll, progress)
}
