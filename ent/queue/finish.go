package queue

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// The ends that a delivery can come to, in the journal's words.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Outcome is what becomes of a delivery whose attempt was made.
type Outcome struct {
	Delivery Delivery
	// Attempt is the attempt; nil when none was made, as for a webhook that was disabled meanwhile.
	Attempt *Attempt
	// Status is Succeeded, Failed or Cancelled; empty when there is to be another attempt.
	Status string
	// Delay is how long after now that is due.
	Delay time.Duration
	// Counts is whether a failure counts towards the disabling of the webhook.
	Counts bool
}

type endRow struct {
	ID       uuid.UUID `json:"id"`
	Lease    uuid.UUID `json:"lease"`
	Status   string    `json:"status"`
	Attempts string    `json:"attempts"`
}

type waitRow struct {
	ID       uuid.UUID `json:"id"`
	Lease    uuid.UUID `json:"lease"`
	Attempts string    `json:"attempts"`
	Delay    int64     `json:"delay"`
}

// Finish writes outcomes down, which are in the order in which their attempts ended: ends move to
// the journal, the rest wait for their next attempt. An outcome whose lease was lost meanwhile
// changes nothing; lost is how many were. A webhook whose last success nothing that counts has
// followed fails no longer; one with a failure that counts fails from now on, unless it did without
// a success in between. It waits for no lock on a webhook: see mark.
func (q *Queue) Finish(ctx context.Context, outcomes []Outcome) (lost int, err error) {
	var (
		ends  []endRow
		waits []waitRow
	)
	for _, o := range outcomes {
		attempts := o.Delivery.Attempts
		if o.Attempt != nil {
			if attempts, err = appendAttempt(attempts, *o.Attempt); err != nil {
				return 0, wrap("finish", err)
			}
		}
		if o.Status == "" {
			waits = append(waits, waitRow{o.Delivery.ID, o.Delivery.Lease, string(attempts), o.Delay.Milliseconds()})
		} else {
			ends = append(ends, endRow{o.Delivery.ID, o.Delivery.Lease, o.Status, string(attempts)})
		}
	}
	var kept int64
	err = q.dialect.together(ctx, q, func(on execer) error {
		kept, err = q.writeOutcomes(ctx, on, ends, waits, healthOf(outcomes))
		return err
	})
	return len(outcomes) - int(kept), wrap("finish", err)
}

// writeOutcomes returns how many of the rows were still under their lease.
func (q *Queue) writeOutcomes(ctx context.Context, on execer, ends []endRow, waits []waitRow, webhooks map[uuid.UUID]history) (kept int64, err error) {
	moment, now := q.store.Moment(), q.store.Now()
	// A failure is written before a delivery that waits because of it can be claimed again.
	if err := q.mark(ctx, on, webhooks); err != nil {
		return 0, err
	}
	if kept, err = write(ctx, on, q.dialect.wait, moment, waits); err != nil {
		return 0, err
	}
	for i, statement := range q.dialect.end {
		n, err := write(ctx, on, statement, now, ends)
		if err != nil {
			return kept, err
		}
		if i == 0 {
			kept += n
		}
	}
	return kept, nil
}

// Release gives leased deliveries back without an attempt; they are due at once.
func (q *Queue) Release(ctx context.Context, deliveries []Delivery) error {
	rows := make([]waitRow, len(deliveries))
	for i, d := range deliveries {
		rows[i] = waitRow{ID: d.ID, Lease: d.Lease}
	}
	_, err := write(ctx, q.store.Writer(), q.dialect.release, q.store.Moment(), rows)
	return wrap("release", err)
}
