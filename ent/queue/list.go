package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
)

// The statuses of a delivery. A waiting delivery of a disabled or deleted webhook is cancelled, even before a worker moves it.
const (
	// Pending is a delivery that waits for an attempt or is being attempted.
	Pending   = "pending"
	Succeeded = "succeeded"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Statuses lists all statuses of a delivery.
func Statuses() []string { return []string{Pending, Succeeded, Failed, Cancelled} }

// Entry is a delivery in a list, finished or not.
type Entry struct {
	ID, StoreID, WebhookID, EventID uuid.UUID
	EventType                       string
	// Status is one of Statuses.
	Status string
	// NextAttemptAt is by the database's clock; nil during an attempt, and when the delivery has ended.
	NextAttemptAt *time.Time
	// Attempts are oldest first; none if the column is damaged.
	Attempts  []Attempt
	CreatedAt time.Time
	// FinishedAt is nil while the delivery is pending.
	FinishedAt *time.Time
}

// Last returns the newest attempt, or nil before the first attempt has ended.
func (e Entry) Last() *Attempt {
	if len(e.Attempts) == 0 {
		return nil
	}
	return &e.Attempts[len(e.Attempts)-1]
}

// Search selects deliveries of a store.
type Search struct {
	StoreID uuid.UUID
	// WebhookID is uuid.Nil for all webhooks.
	WebhookID uuid.UUID
	// Since and Until are when the deliveries were made: from Since until before Until. Zero means no limit.
	Since, Until time.Time
	// Status is one of Statuses, or "" for all.
	Status string
	// Retrying finds, among pending deliveries, only those that have had a failed attempt.
	Retrying bool
	// EventType is that of the event, or "" for all.
	EventType string
	// Before lists deliveries older than this id; uuid.Nil lists from the newest on.
	Before uuid.UUID
	// Limit is how many deliveries are listed at most.
	Limit int

	events []uuid.UUID // the events whose deliveries EntriesOf lists; empty means all events
}

const (
	// maxEventIDs is also the number of the statement's parameters, so that the database prepares it once.
	maxEventIDs = 25
	// maxEventDeliveries and maxEventDeliveriesRead bound what EntriesOf lists and reads, because each webhook and each resend
	// adds a delivery of an event.
	maxEventDeliveries     = 500
	maxEventDeliveriesRead = "10000"
)

// Entries lists the newest deliveries that match. One statement lists a delivery once that ends meanwhile. For each finished
// status it follows an index until it has Limit rows; it may read all unfinished deliveries of the store.
func Entries(ctx context.Context, d *db.DB, search Search) ([]Entry, error) {
	return EntriesIn(ctx, d, d.Reader(), search)
}

// EntriesIn is Entries in the transaction tx.
func EntriesIn(ctx context.Context, d *db.DB, tx db.Querier, search Search) ([]Entry, error) {
	entries, err := search.list(ctx, d, tx)
	return entries, wrap("list deliveries", err)
}

// EntriesOf lists deliveries of at most maxEventIDs events, newest first. It ignores the search's Since, Until, Before and
// Limit.
func EntriesOf(ctx context.Context, d *db.DB, search Search, events []uuid.UUID) ([]Entry, error) {
	if len(events) == 0 {
		return nil, nil
	}
	search.Since, search.Until, search.Before = time.Time{}, time.Time{}, uuid.Nil
	search.Limit, search.events = maxEventDeliveries, events
	entries, err := search.list(ctx, d, d.Reader())
	return entries, wrap("list the deliveries of events", err)
}

func (s Search) list(ctx context.Context, d *db.DB, q db.Querier) ([]Entry, error) {
	query, args := s.statement(dialectOf(d), d.TimeArg())
	entries, err := scanEntries(db.Rows(ctx, q, query, args...))
	return entries[:min(len(entries), s.Limit)], err
}

// statement has a part for each finished status, because in the index the status comes before the id, and one for unfinished
// deliveries. The limit is in the text, because PostgreSQL would plan the statement anew at every call for an argument.
func (s Search) statement(d *dialect, moment any) (string, []any) {
	var args db.Args
	live := s.Status == "" || s.Status == Pending || s.Status == Cancelled
	if live {
		args.Add(moment) // $1 of the statement "live"
	}
	where := "store_id = " + args.Add(s.StoreID)
	rows := func(name string) string { return "(" + d.statements[name] + ") r" }
	if len(s.events) > 0 {
		events := make([]uuid.UUID, maxEventIDs)
		copy(events, s.events)
		// The inner LIMIT makes the database use the index on event_id, whatever the order and the other conditions are.
		condition := where + " AND event_id IN (" + args.AddIDs(events) + ")"
		rows = func(name string) string {
			return "(SELECT * FROM (" + d.statements[name] + ") r WHERE " + condition + " LIMIT " + maxEventDeliveriesRead + ") e"
		}
	}
	if s.WebhookID != uuid.Nil {
		where += " AND webhook_id = " + args.Add(s.WebhookID)
	}
	if s.EventType != "" {
		where += " AND event_type = " + args.Add(s.EventType)
	}
	if !s.Since.IsZero() {
		where += " AND id >= " + args.Add(id.Floor(s.Since))
	}
	if !s.Until.IsZero() {
		where += " AND id < " + args.Add(id.Floor(s.Until))
	}
	if s.Before != uuid.Nil {
		where += " AND id < " + args.Add(s.Before)
	}
	newest := " ORDER BY id DESC LIMIT " + strconv.Itoa(s.Limit)
	var parts []string
	for _, status := range []string{Succeeded, Failed, Cancelled} {
		if s.Status == "" || s.Status == status {
			parts = append(parts, "SELECT * FROM (SELECT * FROM "+rows("ended")+" WHERE "+where+" AND status = '"+status+"'"+newest+") p")
		}
	}
	if live {
		if s.Status != "" {
			where += " AND status = '" + s.Status + "'"
		}
		if s.Retrying {
			where += " AND retry = true"
		}
		parts = append(parts, "SELECT * FROM (SELECT * FROM "+rows("live")+" WHERE "+where+newest+") p")
	}
	return strings.Join(parts, "\nUNION ALL "), args
}

// ErrNoDelivery means that no delivery has the id, or that none matches.
var ErrNoDelivery = errors.New("no such delivery")

// FindEntry reads a delivery of any store. It fails with ErrNoDelivery.
func FindEntry(ctx context.Context, d *db.DB, q db.Querier, deliveryID uuid.UUID) (Entry, error) {
	dialect := dialectOf(d)
	query := "SELECT * FROM (" + dialect.statements["live"] + ") r WHERE id = $2 UNION ALL " + dialect.statements["ended"] + " WHERE id = $2"
	entries, err := scanEntries(db.Rows(ctx, q, query, d.TimeArg(), deliveryID))
	if err == nil && len(entries) == 0 {
		err = ErrNoDelivery
	}
	if err != nil {
		return Entry{}, wrap("read the delivery", err)
	}
	return entries[0], nil
}

// FindPending returns a pending delivery of an event to a webhook. It fails with ErrNoDelivery.
func FindPending(c *hook.Change, storeID, webhookID, eventID uuid.UUID) (Entry, error) {
	search := Search{StoreID: storeID, WebhookID: webhookID, Status: Pending, Limit: 1, events: []uuid.UUID{eventID}}
	pending, err := search.list(c, c.DB, c.Tx)
	if err == nil && len(pending) == 0 {
		err = ErrNoDelivery
	}
	if err != nil {
		return Entry{}, wrap("look for a pending delivery", err)
	}
	return pending[0], nil
}

func scanEntries(rows iter.Seq[db.Row]) ([]Entry, error) {
	var entries []Entry
	for row := range rows {
		var (
			e             Entry
			attempts      []byte
			retry         bool
			due, finished storedTime
		)
		err := row.Scan(&e.ID, &e.StoreID, &e.WebhookID, &e.EventID, &e.EventType, &attempts, &e.CreatedAt, &retry, &due, &e.Status,
			&finished)
		if err != nil {
			return nil, err
		}
		e.NextAttemptAt, e.FinishedAt = due.at, finished.at
		e.Attempts, _ = Attempts(attempts) // an error would hide the other rows
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return entries, nil
}

// storedTime scans a time; at is nil for NULL. SQLite returns milliseconds for a time that an expression computes.
type storedTime struct{ at *time.Time }

func (t *storedTime) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		t.at = nil
	case time.Time:
		t.at = new(v.UTC())
	case int64:
		t.at = new(time.UnixMilli(v).UTC())
	default:
		return fmt.Errorf("a time stored as %T", v)
	}
	return nil
}

const (
	searchStep = 1000
	// MaxSearched is how many events one call of FindEvents reads at most.
	MaxSearched = 10 * searchStep
	// searchTime is after how long a search begins no further step.
	searchTime = 2 * time.Second
	// searchDeadline aborts a statement, which long payloads can make slow.
	searchDeadline = 5 * time.Second
)

// EventSearch searches the payloads of a store's events, from the newest back.
type EventSearch struct {
	StoreID uuid.UUID
	// Text is any part of a payload, as JSON writes it; the case of letters does not matter.
	Text string
	// EventType is a type of event, or "" for all.
	EventType string
	// From is the time of the oldest events to search; zero searches all.
	From time.Time
	// BeforeAt and BeforeID are those of an event: only older ones are searched. Zero begins with the newest.
	BeforeAt time.Time
	BeforeID uuid.UUID
	// Limit may not be above maxEventIDs.
	Limit int
}

// FoundEvents is the result of an EventSearch.
type FoundEvents struct {
	IDs []uuid.UUID
	// EndAt and EndID are those of the oldest event read, for BeforeAt and BeforeID of a next search.
	EndAt time.Time
	EndID uuid.UUID
	// More is true if there may be older events.
	More bool
}

// FindEvents reads until it has found Limit events, has read MaxSearched, or two seconds have passed.
func FindEvents(ctx context.Context, d *db.DB, search EventSearch) (FoundEvents, error) {
	text := string(apijson.AppendString(nil, search.Text))
	text = text[1 : len(text)-1]
	found := FoundEvents{EndAt: search.BeforeAt, EndID: search.BeforeID, More: true}
	if found.EndAt.IsZero() {
		found.EndAt = d.Now().Add(24 * time.Hour) // later than any event, even with a wrong clock
	}
	from := search.From
	if from.IsZero() {
		from = time.Unix(0, 0)
	}
	for began, looked := time.Now(), 0; found.More && looked < MaxSearched && time.Since(began) < searchTime; looked += searchStep {
		err := found.step(ctx, d, search.Limit, search.StoreID, found.EndAt, found.EndID, from, text, search.EventType)
		if err != nil {
			return FoundEvents{}, wrap("search the events", err)
		}
		if len(found.IDs) >= search.Limit {
			break
		}
	}
	return found, nil
}

// step reads the next searchStep events, and adds matching ones to f up to limit.
func (f *FoundEvents) step(ctx context.Context, d *db.DB, limit int, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, searchDeadline)
	defer cancel()
	n := 0
	for row := range db.Rows(ctx, d.Reader(), dialectOf(d).statements["find events"], args...) {
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
