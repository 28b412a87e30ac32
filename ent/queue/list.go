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
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
)

// The statuses of a delivery. If its webhook is disabled or deleted, a waiting delivery has the status cancelled, even
// before a worker moves the delivery to finished_deliveries.
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
	// NextAttemptAt is when the next attempt is due, by the database's clock; nil during an attempt, and
	// when the delivery has ended.
	NextAttemptAt *time.Time
	// Attempts are the attempts so far, oldest first; none if the column is damaged.
	Attempts  []Attempt
	CreatedAt time.Time
	// FinishedAt is when the delivery ended; nil while it is pending.
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
	// WebhookID is a webhook of the store, or uuid.Nil for all webhooks.
	WebhookID uuid.UUID
	// Since and Until limit the times at which the deliveries were made: from Since until before Until. Zero means no limit.
	Since, Until time.Time
	// Status is one of Statuses, or "" for all.
	Status string
	// Retrying is true to find, among pending deliveries, only those that have had a failed attempt.
	Retrying bool
	// EventType is the type of the delivered event, or "" for all.
	EventType string
	// Before is the id of a delivery: only older deliveries are listed. uuid.Nil lists from the newest on.
	Before uuid.UUID
	// Limit is how many deliveries are listed at most.
	Limit int

	events []uuid.UUID // the events whose deliveries EntriesOf lists; empty means all events
}

const (
	// maxEventIDs is how many events EntriesOf takes at most. The statement always has this many parameters, so that its text
	// is always the same and the database prepares it once.
	maxEventIDs = 25
	// maxEventDeliveries is how many deliveries EntriesOf lists at most, and maxEventDeliveriesRead is how many its statement
	// reads at most. An event may have many deliveries, because each webhook and each resend adds one.
	maxEventDeliveries     = 500
	maxEventDeliveriesRead = "10000"
)

// Entries lists the newest deliveries that match the search. It uses one statement, so that a delivery that ends meanwhile
// is listed once. For each finished status the statement follows an index of the store's deliveries until it has Limit
// matching rows. It may read all unfinished deliveries of the store.
func Entries(ctx context.Context, d *db.DB, search Search) ([]Entry, error) {
	return EntriesIn(ctx, d, d.Reader(), search)
}

// EntriesIn lists the same deliveries as Entries, through the transaction tx.
func EntriesIn(ctx context.Context, d *db.DB, tx db.Querier, search Search) ([]Entry, error) {
	entries, err := search.list(ctx, d, tx)
	return entries, wrap("list deliveries", err)
}

// EntriesOf lists the deliveries that match the search and deliver one of these events, newest first. events may have at
// most maxEventIDs ids. EntriesOf ignores the search's Since, Until, Before and Limit.
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

// statement returns the text and the arguments of the SQL statement for a search; moment is the database's TimeArg. The
// statement has one part for each finished status, which selects at most Limit rows, because in the index the status comes
// before the id. A further part selects unfinished deliveries. The limit is written into the text, because PostgreSQL would
// plan the statement anew at every call if the limit were an argument.
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

// ErrNoDelivery means that no delivery has the id, or that none matches the search.
var ErrNoDelivery = errors.New("no such delivery")

// FindEntry reads the delivery with the id deliveryID, in any store, through q. It fails with ErrNoDelivery if there is
// none.
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

// FindPending returns a pending delivery of an event to a webhook. It fails with ErrNoDelivery if there is none.
func FindPending(ctx context.Context, tx *ent.Tx, d *db.DB, storeID, webhookID, eventID uuid.UUID) (Entry, error) {
	search := Search{StoreID: storeID, WebhookID: webhookID, Status: Pending, Limit: 1, events: []uuid.UUID{eventID}}
	pending, err := search.list(ctx, d, tx)
	if err == nil && len(pending) == 0 {
		err = ErrNoDelivery
	}
	if err != nil {
		return Entry{}, wrap("look for a pending delivery", err)
	}
	return pending[0], nil
}

// scanEntries converts rows to entries and sorts them, newest first.
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
		e.Attempts, _ = Attempts(attempts) // attempts that cannot be read are left out, because an error would hide the other rows
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return entries, nil
}

// storedTime scans a column with a time; at is nil for NULL. It accepts a number of milliseconds, because SQLite returns one
// if the time is computed by an expression.
type storedTime struct{ at *time.Time }

// Scan implements sql.Scanner.
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
	// searchStep is how many events one statement of a search reads.
	searchStep = 1000
	// MaxSearched is how many events one call of FindEvents reads at most.
	MaxSearched = 10 * searchStep
	// searchTime is the time after which a search begins no further step.
	searchTime = 2 * time.Second
	// searchDeadline is the time after which a statement of a search is aborted. Long payloads can make a statement slow.
	searchDeadline = 5 * time.Second
)

// EventSearch searches for a text in the payloads of a store's events, from the newest back.
type EventSearch struct {
	StoreID uuid.UUID
	// Text is any part of a payload, as JSON writes it; the case of letters does not matter.
	Text string
	// EventType is a type of event, or "" for all.
	EventType string
	// From is the time of the oldest events to search; zero searches all.
	From time.Time
	// BeforeAt and BeforeID are the time and id of an event, such as the last event of an earlier search. Only older events are
	// searched. The zero time means to begin with the newest event.
	BeforeAt time.Time
	BeforeID uuid.UUID
	// Limit is how many events the search finds at most; it may not be above maxEventIDs.
	Limit int
}

// FoundEvents is the result of an EventSearch.
type FoundEvents struct {
	IDs []uuid.UUID
	// EndAt and EndID are the time and id of the oldest event that was read. Another search with these as BeforeAt and BeforeID
	// continues with the next older event.
	EndAt time.Time
	EndID uuid.UUID
	// More is true if there may be older events.
	More bool
}

// FindEvents searches the events from the newest back, until it has found Limit events, has read MaxSearched events, or two
// seconds have passed.
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

// step runs one statement, which reads the next searchStep events. It adds the ids of matching events to f, until f has
// limit ids.
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
