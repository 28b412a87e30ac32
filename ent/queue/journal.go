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

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
)

// Pending is the status of a delivery that waits for an attempt or is being attempted. Once its webhook
// has been disabled or deleted, a waiting delivery is cancelled, also before a worker moves it to the
// journal.
const Pending = "pending"

// Statuses lists all statuses of a delivery: Pending, and those with which it can end.
func Statuses() []string { return []string{Pending, Succeeded, Failed, Cancelled} }

// Entry is a delivery in the journal.
type Entry struct {
	ID, StoreID, WebhookID, EventID uuid.UUID
	EventType                       string
	// Status is one of Statuses.
	Status string
	// NextAttemptAt is when the next attempt is due, by the database's clock; nil during an attempt, and
	// when the delivery has ended.
	NextAttemptAt *time.Time
	// Attempts are those made so far, oldest first; none if the column is damaged.
	Attempts  []Attempt
	CreatedAt time.Time
	// FinishedAt is when the delivery ended; nil while it is pending.
	FinishedAt *time.Time
}

// Last is the newest attempt, nil before the first one has ended.
func (e Entry) Last() *Attempt {
	if len(e.Attempts) == 0 {
		return nil
	}
	return &e.Attempts[len(e.Attempts)-1]
}

const endedColumns = `SELECT id, store_id, webhook_id, event_id, event_type, attempts, created_at,
 CAST(NULL AS timestamptz) AS due_at, status, finished_at FROM finished_deliveries d`

// live selects the deliveries d for which a condition holds and that have not been moved to the journal. The cancelled
// ones have no time of their end yet. Argument now is the database's Moment.
func (d *dialect) live(now int, which string) string {
	return `SELECT * FROM (
 SELECT id, store_id, webhook_id, event_id, event_type, attempts, created_at,
  CASE WHEN pending AND lease IS NULL THEN due_at END AS due_at, CASE WHEN pending THEN 'pending' ELSE 'cancelled' END AS status,
  CAST(NULL AS timestamptz) AS finished_at
 FROM (SELECT d.*, w.id IS NOT NULL OR d.lease IS NOT NULL AND d.due_at > ` + d.present(now) + ` AS pending
  FROM deliveries d LEFT JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND ` + attemptable + `
  WHERE ` + which + `) d) d`
}

// Search chooses the deliveries of a store to list.
type Search struct {
	StoreID uuid.UUID
	// WebhookID is a webhook of the store, or uuid.Nil for all.
	WebhookID uuid.UUID
	// Since is the earliest time at which a delivery was made, and Until a time after the latest; zero for
	// any.
	Since, Until time.Time
	// Status is one of Statuses, or empty for all.
	Status string
	// Retrying restricts the status Pending to deliveries of which an attempt has failed.
	Retrying bool
	// EventType is the type of the event delivered, or empty for all.
	EventType string
	// Before is a delivery's id: only older deliveries are listed. With uuid.Nil the list starts from the
	// newest.
	Before uuid.UUID
	// Limit bounds how many are listed.
	Limit int
}

// Entries lists the newest deliveries that match. It is one statement, so that a delivery that ends
// meanwhile is listed once. For each status it reads Limit rows of the journal along an index; with a
// webhook or a type in the search it also passes the store's other rows between them. Of the deliveries
// that are not in the journal yet, it may read all of the store.
func Entries(ctx context.Context, s *db.DB, which Search) ([]Entry, error) {
	query, args := which.statement(dialectOf(s), s.Moment())
	entries, err := scanEntries(db.Rows(ctx, s.Reader(), query, args...))
	return entries[:min(len(entries), which.Limit)], wrap("list deliveries", err)
}

// statement returns the search's text and arguments, for the database's Moment. It searches each status for itself,
// with the whole limit, because the index that sorts by id has the status first. The limit is in the text: as an
// argument it would make PostgreSQL plan the statement anew at every call.
func (w Search) statement(d *dialect, moment any) (string, []any) {
	args := []any{w.StoreID}
	which := "d.store_id = $1"
	add := func(condition string, arg any) {
		args = append(args, arg)
		which += fmt.Sprintf(" AND "+condition, len(args))
	}
	if w.WebhookID != uuid.Nil {
		add("d.webhook_id = $%d", w.WebhookID)
	}
	if w.EventType != "" {
		add("d.event_type = $%d", w.EventType)
	}
	if !w.Since.IsZero() {
		add("d.id >= $%d", id.Floor(w.Since))
	}
	if !w.Until.IsZero() {
		add("d.id < $%d", id.Floor(w.Until))
	}
	if w.Before != uuid.Nil {
		add("d.id < $%d", w.Before)
	}
	newest := " ORDER BY d.id DESC LIMIT " + strconv.Itoa(w.Limit)
	var parts []string
	for _, status := range []string{Succeeded, Failed, Cancelled} {
		if w.Status == "" || w.Status == status {
			parts = append(parts, "SELECT * FROM ("+endedColumns+" WHERE "+which+" AND d.status = '"+status+"'"+newest+") AS "+status)
		}
	}
	if w.Status == "" || w.Status == Pending || w.Status == Cancelled {
		args = append(args, moment)
		if w.Retrying {
			which += " AND d.retry = true"
		}
		live := d.live(len(args), which)
		if w.Status != "" {
			live += " WHERE d.status = '" + w.Status + "'"
		}
		parts = append(parts, "SELECT * FROM ("+live+newest+") AS live")
	}
	return strings.Join(parts, "\nUNION ALL "), args
}

// FindEntry reads the delivery with this id, of any store, through q. It returns ErrNoDelivery when there
// is none, or none any more.
func FindEntry(ctx context.Context, s *db.DB, q db.Querier, deliveryID uuid.UUID) (Entry, error) {
	entries, err := scanEntries(db.Rows(ctx, q, dialectOf(s).findEntry(), deliveryID, s.Moment()))
	if err != nil {
		return Entry{}, wrap("read the delivery", err)
	}
	if len(entries) == 0 {
		return Entry{}, ErrNoDelivery
	}
	return entries[0], nil
}

func (d *dialect) findEntry() string {
	return d.live(2, "d.id = $1") + " UNION ALL " + endedColumns + " WHERE id = $1"
}

// FindPending returns the id of a pending delivery of an event to a webhook. It returns
// ErrNoDelivery when there is none.
func FindPending(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID, eventID uuid.UUID) (uuid.UUID, error) {
	pending, err := idsIn(db.Rows(ctx, tx, "SELECT id FROM ("+dialectOf(s).live(4, "d.store_id = $1 AND d.webhook_id = $2 AND d.event_id = $3")+`
 WHERE d.status = 'pending') p LIMIT 1`, storeID, webhookID, eventID, s.Moment()))
	if err != nil {
		return uuid.Nil, wrap("look for a pending delivery", err)
	}
	if len(pending) == 0 {
		return uuid.Nil, ErrNoDelivery
	}
	return pending[0], nil
}

// ErrNoDelivery means that there is no delivery with this id.
var ErrNoDelivery = errors.New("no such delivery")

// scanEntries reads the rows, newest first.
func scanEntries(rows iter.Seq[db.Row]) ([]Entry, error) {
	var entries []Entry
	for row := range rows {
		var (
			e             Entry
			attempts      []byte
			due, finished storedTime
		)
		err := row.Scan(&e.ID, &e.StoreID, &e.WebhookID, &e.EventID, &e.EventType, &attempts, &e.CreatedAt, &due, &e.Status, &finished)
		if err != nil {
			return nil, err
		}
		e.NextAttemptAt, e.FinishedAt = due.at, finished.at
		e.Attempts, _ = Attempts(attempts) // an error here would hide all other rows of the list
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return entries, nil
}

// storedTime scans a time that may be null. SQLite returns the time of an expression as the milliseconds
// that it stores.
type storedTime struct{ at *time.Time }

// Scan implements sql.Scanner.
func (t *storedTime) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		t.at = nil
	case time.Time:
		at := v.UTC()
		t.at = &at
	case int64:
		at := time.UnixMilli(v).UTC()
		t.at = &at
	default:
		return fmt.Errorf("a time stored as %T", v)
	}
	return nil
}
