package queue

import (
	"context"
	"iter"
	"time"

	"go.storefront.example/ent/db"
)

// Want is a request for deliveries of a lane.
type Want struct {
	Lane
	// Max is how many to lease at most.
	Max int `json:"max"`
}

// Claim leases what is due in the lanes, what has been due longest first, and at most Max of each. It
// leaves out what is cancelled.
func (q *Queue) Claim(ctx context.Context, wants []Want, lease time.Duration) ([]Delivery, error) {
	if len(wants) == 0 {
		return nil, nil
	}
	claimed, err := q.dialect.claim(ctx, q, wants, lease)
	return claimed, wrap("claim", err)
}

func scanClaimed(rows iter.Seq[db.Row]) (claimed []Delivery, err error) {
	for row := range rows {
		var (
			d      Delivery
			caused cause
		)
		if err := row.Scan(&d.ID, &d.Lease, &d.StoreID, &d.WebhookID, &d.Retry, &d.EventID, &d.EventType, &d.Attempts, &d.CreatedAt,
			&d.Epoch, &d.URL, &d.Secret, &d.SecretKey, &d.Payload, &caused.request, &caused.trace); err != nil {
			return nil, err
		}
		caused.set(&d)
		claimed = append(claimed, d)
	}
	return claimed, nil
}
