package queue

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"go.storefront.example/ent/db"
)

// Want is a request for deliveries of a lane.
type Want struct {
	Lane
	// Max is how many to lease at most.
	Max int
	// After is where the lane's last claim ended, as Claimed reported it; zero starts from the oldest.
	After time.Time
}

// Claimed is the result of a claim.
type Claimed struct {
	Deliveries []Delivery
	// Ends has, for each lane with a delivery, the After of its next claim.
	Ends map[Lane]time.Time
}

// Claim leases what is due in the lanes, what has been due longest first, and at most Max of each. It
// leaves out what is cancelled: deliveries of a webhook that is disabled or deleted, and those that became
// due before the webhook's epoch began. StepCancellation moves them to the journal.
func (q *Queue) Claim(ctx context.Context, wants []Want, lease time.Duration) (Claimed, error) {
	done := Claimed{Ends: map[Lane]time.Time{}}
	if len(wants) == 0 {
		return done, nil
	}
	return done, wrap("claim", q.dialect.claim(ctx, q, wants, lease, &done))
}

func (c *Claimed) scan(rows iter.Seq[db.Row]) error {
	for row := range rows {
		var (
			d                  Delivery
			due                time.Time
			address, secretKey sql.NullString
			caused             cause
		)
		err := row.Scan(&d.ID, &d.Lease, &d.StoreID, &d.WebhookID, &d.Retry, &d.EventID, &d.EventType, &d.Attempts, &d.CreatedAt, &d.Epoch, &due,
			&d.Enabled, &address, &d.Secret, &secretKey, &d.Payload, &caused.request, &caused.trace)
		if err != nil {
			return err
		}
		caused.set(&d)
		d.URL, d.SecretKey = address.String, secretKey.String
		c.Deliveries = append(c.Deliveries, d)
		c.Ends[d.Lane] = due
	}
	return nil
}

// lookAgain reads once more the events that a statement did not find. PostgreSQL plans a statement for
// the partitions of that time. If one is being made meanwhile, the statement waits for that and then
// looks for the events that moved there in their old partition. A second statement finds them; an event
// that it does not find has been deleted.
func lookAgain(ctx context.Context, on db.Querier, deliveries []Delivery) error {
	for i := range deliveries {
		d := &deliveries[i]
		if d.Payload != nil {
			continue
		}
		var caused cause
		for row := range db.Rows(ctx, on, "SELECT payload, request_id, trace FROM events WHERE store_id = $1 AND id = $2", d.StoreID, d.EventID) {
			if err := row.Scan(&d.Payload, &caused.request, &caused.trace); err != nil {
				return err
			}
		}
		caused.set(d)
	}
	return nil
}
