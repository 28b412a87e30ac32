package queue

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Want asks for deliveries of a lane.
type Want struct {
	Lane
	// Max is how many to lease at most.
	Max int
	// After is where the lane's last claim ended, as Claimed reported it; zero starts from the oldest.
	After time.Time
}

// Claimed is what one claim got.
type Claimed struct {
	Deliveries []Delivery
	// Ends is where the next claim of each lane starts that had anything.
	Ends map[Lane]time.Time
}

// Claim leases what is due in the lanes, the longest due first, each up to its Max; nothing of a
// webhook that is disabled or gone, or that became due before the webhook was last enabled again:
// that is cancelled, and moved to the journal by StepCancellation.
func (q *Queue) Claim(ctx context.Context, wants []Want, lease time.Duration) (Claimed, error) {
	done := Claimed{Ends: map[Lane]time.Time{}}
	if len(wants) == 0 {
		return done, nil
	}
	return done, wrap("claim", q.dialect.claim(ctx, q, wants, lease, &done))
}

func (c *Claimed) scan(rows *sql.Rows, err error) error {
	return each(rows, err, func() error {
		var (
			d                  Delivery
			due                time.Time
			address, secretKey sql.NullString
			caused             cause
		)
		err := rows.Scan(&d.ID, &d.Lease, &d.StoreID, &d.WebhookID, &d.Retry, &d.EventID, &d.EventType, &d.Attempts, &d.CreatedAt, &d.Epoch, &due,
			&d.Enabled, &address, &d.Secret, &secretKey, &d.Payload, &caused.request, &caused.trace)
		if err != nil {
			return err
		}
		caused.set(&d)
		d.URL, d.SecretKey = address.String, secretKey.String
		c.Deliveries = append(c.Deliveries, d)
		c.Ends[d.Lane] = due
		return nil
	})
}

// lookAgain looks once more for events that were not found. PostgreSQL plans a statement by the
// partitions that there are; when one is being made just then, the statement waits for it and
// looks for the events that moved there in their old place. Taken for gone, an event would be
// lost. The next statement finds it; what that does not find is kept no longer.
func lookAgain(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, deliveries []Delivery,
) error {
	for i := range deliveries {
		d := &deliveries[i]
		if d.Payload != nil {
			continue
		}
		var caused cause
		err := db.QueryRowContext(ctx, "SELECT payload, request_id, trace FROM events WHERE store_id = $1 AND id = $2", d.StoreID, d.EventID).
			Scan(&d.Payload, &caused.request, &caused.trace)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		caused.set(d)
	}
	return nil
}
