package queue

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/notice"
)

// Outcome is the result of an attempt, and the status that its delivery gets.
type Outcome struct {
	Delivery Delivery
	// Attempt is nil if no attempt was made, for example because the webhook was disabled.
	Attempt *Attempt
	// Status is one of Statuses. Pending means that another attempt follows.
	Status string
	// Delay is from Finish to the next attempt, if Status is Pending.
	Delay time.Duration
	// CountsAsFailure is true if a failed attempt counts towards disabling the webhook.
	CountsAsFailure bool
}

// outcomeRow is an Outcome for the SQL statements. Delay is in milliseconds.
type outcomeRow struct {
	ID       uuid.UUID `json:"id"`
	Lease    uuid.UUID `json:"lease"`
	Status   string    `json:"status"`
	Attempts string    `json:"attempts"`
	Delay    int64     `json:"delay"`
}

// Finish stores outcomes, in the order in which their attempts ended. It moves all but pending deliveries to
// finished_deliveries. lost counts outcomes without effect, because the delivery's row no longer has their lease.
//
// It also updates each webhook's failing_since, the time of the first failure since the last success, unless the webhook's row
// is locked.
func (q *Queue) Finish(ctx context.Context, outcomes []Outcome) (lost int, err error) {
	var ends, waits []outcomeRow
	for _, o := range outcomes {
		attempts := o.Delivery.Attempts
		if o.Attempt != nil {
			if attempts, err = appendAttempt(attempts, *o.Attempt); err != nil {
				return 0, wrap("finish", err)
			}
		}
		r := outcomeRow{o.Delivery.ID, o.Delivery.Lease, o.Status, string(attempts), o.Delay.Milliseconds()}
		if o.Status == Pending {
			waits = append(waits, r)
		} else {
			ends = append(ends, r)
		}
	}
	var waiting, ended int64
	err = q.inTx(ctx, func(tx *sql.Tx) (err error) {
		if err = q.updateFailingSince(ctx, tx, webhookOutcomes(outcomes)); err != nil {
			return err
		}
		if waiting, err = write(ctx, q, tx, "wait", waits); err != nil {
			return err
		}
		ended, err = write(ctx, q, tx, "end", ends)
		return err
	})
	return len(outcomes) - int(waiting+ended), wrap("finish", err)
}

// webhookOutcome sums up one webhook's outcomes. Failed is true if a failure that counts came after the last success.
type webhookOutcome struct {
	ID        uuid.UUID `json:"id"`
	Succeeded bool      `json:"succeeded"`
	Failed    bool      `json:"failed"`
}

// webhookOutcomes leaves out webhooks without a success or a failure that counts.
func webhookOutcomes(outcomes []Outcome) []webhookOutcome {
	var perWebhook []webhookOutcome
	at := map[uuid.UUID]int{}
	for _, o := range outcomes {
		succeeded := o.Status == Succeeded
		if o.Attempt == nil || !succeeded && (!o.CountsAsFailure || o.Status == Cancelled) {
			continue
		}
		i, known := at[o.Delivery.WebhookID]
		if !known {
			i = len(perWebhook)
			at[o.Delivery.WebhookID] = i
			perWebhook = append(perWebhook, webhookOutcome{ID: o.Delivery.WebhookID})
		}
		perWebhook[i].Succeeded, perWebhook[i].Failed = perWebhook[i].Succeeded || succeeded, !succeeded
	}
	return perWebhook
}

// changedWebhook is a webhook whose failing_since changes, as it was before.
type changedWebhook struct {
	ID     uuid.UUID `json:"id"`
	Failed bool      `json:"failed"`
	before notice.Webhook
}

// updateFailingSince writes a notice for each webhook that has ceased to fail.
func (q *Queue) updateFailingSince(ctx context.Context, tx *sql.Tx, perWebhook []webhookOutcome) error {
	if len(perWebhook) == 0 {
		return nil
	}
	set, err := rowset(perWebhook)
	if err != nil {
		return err
	}
	var changed []changedWebhook
	for row := range db.Rows(ctx, tx, q.dialect.statements["changed webhooks"], set) {
		var c changedWebhook
		var since sql.NullTime
		if err := row.Scan(&c.ID, &c.before.StoreID, &c.before.URL, &c.before.Description, &since, &c.Failed); err != nil {
			return err
		}
		c.before.ID, c.before.FailingSince = c.ID, since.Time
		changed = append(changed, c)
	}
	if _, err := write(ctx, q, tx, "mark", changed); err != nil {
		return err
	}
	for _, c := range changed {
		if c.Failed {
			continue
		}
		if err := notice.WriteRecovered(ctx, q.db, tx, q.db.Now(), c.before); err != nil {
			return err
		}
	}
	return nil
}

// Release makes deliveries due at once that the worker did not attempt.
func (q *Queue) Release(ctx context.Context, deliveries []Delivery) error {
	rows := make([]outcomeRow, len(deliveries))
	for i, d := range deliveries {
		rows[i] = outcomeRow{ID: d.ID, Lease: d.Lease}
	}
	_, err := write(ctx, q, q.db.Writer(), "release", rows)
	return wrap("release", err)
}
