package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// ClaimRequest asks for deliveries of a lane.
type ClaimRequest struct {
	Lane
	// Max is how many to lease at most.
	Max   int `json:"max"`
	floor time.Time
}

// floorOverlap is how far before the last claim's deliveries the next search begins, because a delivery may be committed late
// and the clocks of hosts differ.
const floorOverlap = 10 * time.Second

// MarshalJSON returns the request as the statement takes it.
func (r ClaimRequest) MarshalJSON() ([]byte, error) {
	type plain ClaimRequest
	return json.Marshal(struct {
		plain
		Floor time.Time `json:"floor"`
	}{plain(r), r.floor})
}

// Claim leases due deliveries for the duration lease: at most Max of each request's lane, first those that have been due
// longest, and no cancelled ones.
func (q *Queue) Claim(ctx context.Context, requests []ClaimRequest, lease time.Duration) ([]Delivery, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	requests, asked := slices.Clone(requests), q.db.Now()
	for i, r := range requests {
		requests[i].floor = q.floors[r.Lane]
	}
	claimed, err := q.dialect.claim(ctx, q, requests, lease)
	if err == nil {
		q.raiseFloors(requests, claimed, asked)
		err = q.readPayloads(ctx, q.db.Writer(), claimed)
	}
	slices.SortFunc(claimed, func(a, b Delivery) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return claimed, wrap("claim", err)
}

// raiseFloors follows a claim at the time asked that returned claimed.
func (q *Queue) raiseFloors(requests []ClaimRequest, claimed []Delivery, asked time.Time) {
	count, last := map[Lane]int{}, map[Lane]time.Time{}
	for _, d := range claimed {
		count[d.Lane]++
		if d.DueAt.After(last[d.Lane]) {
			last[d.Lane] = d.DueAt
		}
	}
	for _, r := range requests {
		floor := asked
		if count[r.Lane] == r.Max {
			floor = last[r.Lane]
		}
		q.floors[r.Lane] = floor.Add(-floorOverlap)
	}
}

func scanClaimed(rows iter.Seq[db.Row]) (claimed []Delivery, err error) {
	for row := range rows {
		var d Delivery
		if err := row.Scan(&d.ID, &d.Lease, &d.StoreID, &d.WebhookID, &d.Retry, &d.EventID, &d.EventType, &d.Attempts, &d.CreatedAt,
			&d.Epoch, &d.DueAt, &d.URL, &d.Secret, &d.SecretKey); err != nil {
			return nil, err
		}
		claimed = append(claimed, d)
	}
	return claimed, nil
}

// readPayloads reads an event's payload once, even if several deliveries have it.
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

// dueOverlap is how far before the previous call Due begins to search, because a row may be committed late and the clocks of
// hosts differ.
const dueOverlap = 2 * time.Second

// Due returns the lanes in which deliveries became due since the previous call. It misses those whose lease has ended, those
// that were committed late, and, at its first call, earlier ones: AllDue finds them.
func (q *Queue) Due(ctx context.Context) (lanes []Lane, err error) {
	now := q.db.Now()
	if q.due.IsZero() || now.Before(q.due) { // the first call, or the clock was set back
		q.due = now
	}
	for row := range db.Rows(ctx, q.db.Reader(), q.dialect.statements["due since"], q.db.TimeArg(), q.due.Add(-dueOverlap)) {
		var lane Lane
		if err := row.Scan(&lane.StoreID, &lane.WebhookID, &lane.Retry); err != nil {
			return nil, wrap("look for what is due", err)
		}
		lanes = append(lanes, lane)
	}
	q.due = now
	return lanes, nil
}

// DueLane is a lane with due deliveries.
type DueLane struct {
	Lane
	since time.Time
}

// AllDue returns all lanes with due deliveries, under a lease or not, for Found. It may be slow while a transaction has been
// open for long, because it reads the deleted rows that PostgreSQL keeps for it.
func (q *Queue) AllDue(ctx context.Context) (lanes []DueLane, err error) {
	for row := range db.Rows(ctx, q.db.Reader(), q.dialect.statements["due"], q.db.TimeArg()) {
		var lane DueLane
		if err := row.Scan(&lane.StoreID, &lane.WebhookID, &lane.Retry, &lane.since); err != nil {
			return nil, wrap("look for all that is due", err)
		}
		lanes = append(lanes, lane)
	}
	return lanes, nil
}

// Found lets the next claims of the lanes begin with the deliveries that AllDue has found.
func (q *Queue) Found(lanes []DueLane) {
	idle := q.db.Now().Add(-time.Hour)
	for lane, floor := range q.floors {
		if floor.Before(idle) { // nothing was claimed for long
			delete(q.floors, lane)
		}
	}
	for _, lane := range lanes {
		if floor, known := q.floors[lane.Lane]; known && lane.since.Before(floor) {
			q.floors[lane.Lane] = lane.since
		}
	}
}
