package queue

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// history is the part of a webhook's outcomes that decides its health: whether there was a success, and
// whether a failure that counts came after the last one.
type history struct{ succeeded, failed bool }

var (
	failing  = history{failed: true}
	relapsed = history{succeeded: true, failed: true}
	healthy  = history{succeeded: true}
)

// healthOf goes by the order of the outcomes.
func healthOf(outcomes []Outcome) map[uuid.UUID]history {
	webhooks := map[uuid.UUID]history{}
	for _, o := range outcomes {
		switch webhook := o.Delivery.WebhookID; {
		case o.Attempt == nil:
		case o.Status == Succeeded:
			webhooks[webhook] = healthy
		case o.Counts && o.Status != Cancelled:
			webhooks[webhook] = history{succeeded: webhooks[webhook].succeeded, failed: true}
		}
	}
	return webhooks
}

// mark stores what outcomes mean for their webhooks. It skips a webhook whose row is locked: results of
// all webhooks go through here, and two workers that wait for each other's rows would stop. A failure
// that was skipped is left to the next one. A success is kept and marked with the next outcomes: without
// it the webhook might be disabled too early.
func (q *Queue) mark(ctx context.Context, on execer, webhooks map[uuid.UUID]history) error {
	q.marking.Lock()
	defer q.marking.Unlock()
	webhooks = maps.Clone(webhooks)
	for webhook, before := range q.unmarked {
		if is, again := webhooks[webhook]; !again {
			webhooks[webhook] = before
		} else if is.failed {
			webhooks[webhook] = relapsed
		}
	}
	lists, moment := map[history][]uuid.UUID{}, q.db.Moment()
	for webhook, is := range webhooks {
		lists[is] = append(lists[is], webhook)
	}
	if _, err := q.dialect.mark(ctx, on, q.dialect.failing, moment, lists[failing]); err != nil {
		return err
	}
	skippedRelapses, err := q.dialect.mark(ctx, on, q.dialect.relapsed, moment, lists[relapsed])
	if err != nil {
		return err
	}
	skippedSuccesses, err := q.dialect.mark(ctx, on, q.dialect.healthy, moment, lists[healthy])
	if err != nil {
		return err
	}
	q.unmarked = map[uuid.UUID]history{}
	for _, webhook := range slices.Concat(skippedRelapses, skippedSuccesses) {
		q.unmarked[webhook] = webhooks[webhook]
	}
	return nil
}
