package queue

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// health is what outcomes mean for their webhooks, each of which is in one list at most.
type health struct {
	// failing are those with a failure that counts and no success, relapsed those with such a failure
	// after their last success, healthy those whose last success no such failure has followed.
	failing, relapsed, healthy []uuid.UUID
}

// history is the part of a webhook's outcomes that decides its health.
type history struct{ succeeded, failed bool }

// healthOf goes by the order of the outcomes.
func healthOf(outcomes []Outcome) map[uuid.UUID]history {
	webhooks := map[uuid.UUID]history{}
	for _, o := range outcomes {
		switch webhook := o.Delivery.WebhookID; {
		case o.Attempt == nil:
		case o.Status == Succeeded:
			webhooks[webhook] = history{succeeded: true}
		case o.Counts && o.Status != Cancelled:
			webhooks[webhook] = history{succeeded: webhooks[webhook].succeeded, failed: true}
		}
	}
	return webhooks
}

// listed returns the webhooks in their lists.
func listed(webhooks map[uuid.UUID]history) health {
	var h health
	for webhook, is := range webhooks {
		switch {
		case is.failed && is.succeeded:
			h.relapsed = append(h.relapsed, webhook)
		case is.failed:
			h.failing = append(h.failing, webhook)
		default:
			h.healthy = append(h.healthy, webhook)
		}
	}
	return h
}

// mark writes down what outcomes mean for their webhooks. It passes by a webhook whose row somebody
// else holds: results of all webhooks go through here, and two workers that wait for each other's
// rows would stop. A failure that was passed by is left to the next one. A success is kept and
// marked with the next outcomes: without it the webhook might be disabled too early.
func (q *Queue) mark(ctx context.Context, on execer, webhooks map[uuid.UUID]history) error {
	q.marking.Lock()
	defer q.marking.Unlock()
	webhooks = maps.Clone(webhooks)
	for webhook, before := range q.unmarked {
		if is, again := webhooks[webhook]; !again {
			webhooks[webhook] = before
		} else if is.failed {
			webhooks[webhook] = history{succeeded: true, failed: true}
		}
	}
	h, moment := listed(webhooks), q.db.Moment()
	if _, err := q.dialect.mark(ctx, on, q.dialect.failing, moment, h.failing); err != nil {
		return err
	}
	relapsed, err := q.dialect.mark(ctx, on, q.dialect.relapsed, moment, h.relapsed)
	if err != nil {
		return err
	}
	healthy, err := q.dialect.mark(ctx, on, q.dialect.healthy, moment, h.healthy)
	if err != nil {
		return err
	}
	q.unmarked = map[uuid.UUID]history{}
	for _, webhook := range slices.Concat(relapsed, healthy) {
		q.unmarked[webhook] = webhooks[webhook]
	}
	return nil
}
