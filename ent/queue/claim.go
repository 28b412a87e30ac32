package queue

import (
	"context"
	"iter"
	"time"

	"go.storefront.example/ent/db"
)

// ClaimRequest is a request for deliveries of a lane.
type ClaimRequest struct {
	Lane
	// Max is the maximum number to lease.
	Max int `json:"max"`
}

// Claim leases due deliveries for the duration lease and returns them: from the lane of each request at most Max, first those
// that have been due longest. It leases no cancelled deliveries.
func (q *Queue) Claim(ctx context.Context, requests []ClaimRequest, lease time.Duration) ([]Delivery, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	claimed, err := q.dialect.claim(ctx, q, requests, lease)
	if err == nil {
		err = q.readPayloads(ctx, q.db.Writer(), claimed)
	}
	return claimed, wrap("claim", err)
}

func scanClaimed(rows iter.Seq[db.Row]) (claimed []Delivery, err error) {
	for row := range rows {
		var d Delivery
		if err := row.Scan(&d.ID, &d.Lease, &d.StoreID, &d.WebhookID, &d.Retry, &d.EventID, &d.EventType, &d.Attempts, &d.CreatedAt,
			&d.Epoch, &d.URL, &d.Secret, &d.SecretKey); err != nil {
			return nil, err
		}
		claimed = append(claimed, d)
	}
	return claimed, nil
}

// dueOverlap is how far before the previous call of Due the next call begins to search, because a row may be committed late
// and the clocks of hosts differ.
const dueOverlap = 2 * time.Second

// dueInterval is how often Due reads all due deliveries, not only those that became due since its previous call.
const dueInterval = 10 * time.Second

// Due returns the lanes in which deliveries became due since the previous call: retries whose time has come, deliveries
// whose lease ended, and deliveries that a relay did not lease. At the first call, once every dueInterval, and after the
// clock was set back, Due returns all lanes with due deliveries, and all is true.
func (q *Queue) Due(ctx context.Context) (lanes []Lane, all bool, err error) {
	now := q.db.Now()
	since := q.due.at.Add(-dueOverlap)
	all = q.due.at.IsZero() || !now.Before(q.due.lastFullScan.Add(dueInterval)) || now.Before(q.due.lastFullScan)
	name, args := "due since", []any{q.db.TimeArg(), since}
	if all {
		name, args = "due", args[:1]
	}
	for row := range db.Rows(ctx, q.db.Reader(), q.dialect.statements[name], args...) {
		var lane Lane
		if err := row.Scan(&lane.StoreID, &lane.WebhookID, &lane.Retry); err != nil {
			return nil, false, wrap("look for what is due", err)
		}
		lanes = append(lanes, lane)
	}
	q.due.at = now
	if all {
		q.due.lastFullScan = now
	}
	return lanes, all, nil
}
