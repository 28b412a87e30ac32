package queue

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
)

// The statuses with which a delivery can end, as stored in the journal.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Outcome is what follows for a delivery from its attempt.
type Outcome struct {
	Delivery Delivery
	// Attempt is nil when none was made, for example because the webhook was disabled.
	Attempt *Attempt
	// Status is Succeeded, Failed or Cancelled; empty when another attempt follows.
	Status string
	// Delay is the time from now to the next attempt.
	Delay time.Duration
	// Counts reports whether a failure counts towards disabling the webhook.
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

// Finish stores outcomes, given in the order in which their attempts ended. A delivery that has ended
// moves to the journal; the others wait for their next attempt. An outcome whose lease has been lost
// changes nothing, and lost is how many there were.
//
// It also keeps failing_since of the webhooks: a failure that counts sets it to now, unless it is set and
// no success came between; a success clears it, unless a failure that counts came after. A webhook whose row is
// locked is left to its next outcome.
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
	var waiting, ended int64
	err = q.inTx(ctx, func(tx *sql.Tx) (err error) {
		if _, err = write(ctx, q, tx, "mark", marksOf(outcomes)); err != nil {
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

// Release ends the leases of deliveries without an attempt; they are due at once.
func (q *Queue) Release(ctx context.Context, deliveries []Delivery) error {
	rows := make([]waitRow, len(deliveries))
	for i, d := range deliveries {
		rows[i] = waitRow{ID: d.ID, Lease: d.Lease}
	}
	_, err := write(ctx, q, q.db.Writer(), "release", rows)
	return wrap("release", err)
}
