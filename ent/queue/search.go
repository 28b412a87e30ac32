package queue

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
)

const (
	// searchStep is how many events one statement of a search looks at.
	searchStep = 1000
	// MaxSearched is how many events a search looks at.
	MaxSearched = 10 * searchStep
	// searchTime is how long a search continues with another step.
	searchTime = 2 * time.Second
	// searchDeadline ends a statement that is slow beyond expectation: a payload may be long.
	searchDeadline = 5 * time.Second
)

// EventSearch looks for a text in the payloads of a store's events, from the newest back.
type EventSearch struct {
	StoreID uuid.UUID
	// Text is any part of a payload, as JSON writes it; the case of letters does not matter.
	Text string
	// EventType is a type of event, or empty for all.
	EventType string
	// From is the time before which it does not look, or zero.
	From time.Time
	// BeforeAt and BeforeID are the place from which it looks back: that of the event where an earlier
	// search ended, or of no event. The zero time is the newest event.
	BeforeAt time.Time
	BeforeID uuid.UUID
	// Limit bounds how many events are found: at most maxFound.
	Limit int
}

// FoundEvents is the result of an EventSearch.
type FoundEvents struct {
	IDs []uuid.UUID
	// EndAt and EndID are the place of the oldest event looked at, from which another search continues.
	EndAt time.Time
	EndID uuid.UUID
	// More reports whether there may be older events.
	More bool
}

// FindEvents looks at up to MaxSearched events, by the index that sorts them by time, and for about two
// seconds at most: its caller continues from where it ended.
func FindEvents(ctx context.Context, s *db.DB, which EventSearch) (FoundEvents, error) {
	text := string(apijson.AppendString(nil, which.Text))
	text = text[1 : len(text)-1]
	found := FoundEvents{EndAt: which.BeforeAt, EndID: which.BeforeID, More: true}
	if found.EndAt.IsZero() {
		found.EndAt = s.Now().Add(24 * time.Hour) // no clock is that wrong
	}
	from := which.From
	if from.IsZero() {
		from = time.Unix(0, 0)
	}
	for began, looked := time.Now(), 0; found.More && looked < MaxSearched && time.Since(began) < searchTime; looked += searchStep {
		err := found.step(ctx, s.Reader(), dialectOf(s).findEvents(), which.Limit,
			which.StoreID, found.EndAt, found.EndID, from, text, which.EventType)
		if err != nil {
			return FoundEvents{}, wrap("search the events", err)
		}
		if len(found.IDs) >= which.Limit {
			break
		}
	}
	return found, nil
}

// step looks at the next events, until it has found as many as the limit.
func (f *FoundEvents) step(ctx context.Context, on db.Querier, statement string, limit int, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, searchDeadline)
	defer cancel()
	n := 0
	for row := range db.Rows(ctx, on, statement, args...) {
		var matches bool
		if err := row.Scan(&f.EndID, &f.EndAt, &matches); err != nil {
			return err
		}
		n++
		if matches {
			f.IDs = append(f.IDs, f.EndID)
		}
		if len(f.IDs) >= limit {
			break
		}
	}
	f.More = n == searchStep || len(f.IDs) >= limit
	return nil
}

// findEvents is the statement of a step. The limit stands in the text: see Search.statement.
func (d *dialect) findEvents() string {
	return `SELECT id, created_at, (` + d.contains + `) AND ($6 = '' OR type = $6) FROM (
 SELECT id, created_at, type, payload FROM events WHERE store_id = $1 AND (created_at, id) < ($2, $3) AND created_at >= $4
 ORDER BY created_at DESC, id DESC LIMIT ` + strconv.Itoa(searchStep) + `) e ORDER BY created_at DESC, id DESC`
}

const (
	// maxFound is how many events EntriesOf takes. The statement always names so many, so that there is one.
	maxFound = 25
	// maxOfEvents bounds the deliveries that are listed of these events, and maxReadOfEvents those that are
	// read: each event has one for each webhook and each resend.
	maxOfEvents     = 500
	maxReadOfEvents = 10_000
)

// EntriesOf lists the newest deliveries of up to maxFound events that match a search, whose Since,
// Until, Before and Limit it ignores. It reads the indexes that sort deliveries by event: the inner limit
// keeps the database from reading another index for the sake of the order or of a condition.
func EntriesOf(ctx context.Context, s *db.DB, which Search, events []uuid.UUID) ([]Entry, error) {
	if len(events) == 0 {
		return nil, nil
	}
	query, args := which.ofEvents(dialectOf(s), s.Moment(), events)
	entries, err := scanEntries(db.Rows(ctx, s.Reader(), query, args...))
	return entries, wrap("list the deliveries of events", err)
}

// ofEvents is statement for the deliveries of events, of which there is one at least.
func (w Search) ofEvents(d *dialect, moment any, events []uuid.UUID) (string, []any) {
	args := []any{w.StoreID, moment}
	names := make([]string, maxFound)
	for i := range names {
		event := uuid.Nil
		if i < len(events) {
			event = events[i]
		}
		args = append(args, event)
		names[i] = "$" + strconv.Itoa(len(args))
	}
	in := "d.store_id = $1 AND d.event_id IN (" + strings.Join(names, ", ") + ")"
	query := "SELECT * FROM (SELECT * FROM (" + d.live(2, in) + ") AS live UNION ALL SELECT * FROM (" + endedColumns + " WHERE " +
		in + ") AS done LIMIT " +
		strconv.Itoa(maxReadOfEvents) + ") AS found WHERE true"
	if w.WebhookID != uuid.Nil {
		args = append(args, w.WebhookID)
		query += " AND webhook_id = $" + strconv.Itoa(len(args))
	}
	if w.Status != "" {
		args = append(args, w.Status)
		query += " AND status = $" + strconv.Itoa(len(args))
	}
	if w.Retrying {
		query += " AND length(attempts) > " + strconv.Itoa(len(noAttempts))
	}
	if w.EventType != "" {
		args = append(args, w.EventType)
		query += " AND event_type = $" + strconv.Itoa(len(args))
	}
	return query + " ORDER BY id DESC LIMIT " + strconv.Itoa(maxOfEvents), args
}
