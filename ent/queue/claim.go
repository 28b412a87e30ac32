package queue

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

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
	slices.SortFunc(claimed, func(a, b Delivery) int { return bytes.Compare(a.ID[:], b.ID[:]) })
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

// readPayloads sets the payloads of the deliveries. It reads an event's payload once, even if several deliveries have the
// event.
func (q *Queue) readPayloads(ctx context.Context, conn db.Querier, deliveries []Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	var stores, events []uuid.UUID
	seen := map[uuid.UUID]*Delivery{}
	for _, d := range deliveries {
		if seen[d.EventID] == nil {
			stores, events = append(stores, d.StoreID), append(events, d.EventID)
			seen[d.EventID] = &Delivery{}
		}
	}
	for row := range db.Rows(ctx, conn, q.dialect.statements["payloads"], q.dialect.array(stores), q.dialect.array(events)) {
		var event uuid.UUID
		var d Delivery
		if err := row.Scan(&event, &d.Payload, &d.RequestID, &d.Trace); err != nil {
			return err
		}
		seen[event] = &d
	}
	for i := range deliveries {
		e := seen[deliveries[i].EventID]
		deliveries[i].Payload, deliveries[i].RequestID, deliveries[i].Trace = e.Payload, e.RequestID, e.Trace
	}
	return nil
}

// dueOverlap is how far before the previous call of Due the next call begins to search, because a row may be committed late
// and the clocks of hosts differ.
const dueOverlap = 2 * time.Second

// Due reads all due deliveries every minDueInterval, because a delivery whose lease has ended is found in no other way. If that
// takes long, Due waits dueFactor times as long before it does so again, but at most maxDueInterval.
const (
	minDueInterval = 2 * time.Second
	maxDueInterval = 10 * time.Second
	dueFactor      = 20
)

// Due returns the lanes in which deliveries became due since the previous call: new deliveries, and retries whose time has
// come. At the first call, every few seconds, and after the clock was set back, Due returns all lanes with due deliveries, also
// deliveries under a lease and those whose lease has ended, and all is true.
func (q *Queue) Due(ctx context.Context) (lanes []Lane, all bool, err error) {
	now := q.db.Now()
	since := q.due.at.Add(-dueOverlap)
	all = q.due.at.IsZero() || !now.Before(q.due.nextFullScan) || now.Before(q.due.lastFullScan)
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
		took := dueFactor * q.db.Now().Sub(now)
		q.due.nextFullScan = now.Add(min(max(took, minDueInterval), maxDueInterval))
	}
	return lanes, all, nil
}
