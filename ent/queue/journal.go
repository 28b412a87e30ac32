package queue

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
)

// Pending is the state of a delivery that waits for an attempt, or of which one is being made. One
// that waits for a webhook that was disabled or deleted since is cancelled, whether or not a worker
// has moved it to the journal yet.
const Pending = "pending"

// Statuses lists the states of a delivery: pending, or what it ended as.
func Statuses() []string { return []string{Pending, Succeeded, Failed, Cancelled} }

// Entry is a delivery as the journal shows it.
type Entry struct {
	ID, StoreID, WebhookID, EventID uuid.UUID
	EventType                       string
	// Status is one of Statuses.
	Status string
	// NextAttemptAt is when a pending delivery's next attempt is due, by the database's clock; nil
	// while one is being made, and when the delivery has ended.
	NextAttemptAt *time.Time
	// Attempts are those made so far, oldest first.
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

// isPending is the condition on a delivery d that has not been moved to the journal; its webhook w is
// null unless the delivery is of its epoch. now is where the store's Moment is.
func isPending(database string, now int) string {
	return "(w.id IS NOT NULL OR d.lease IS NOT NULL AND d.due_at > " + momentOf(database, now) + ")"
}

// live selects the deliveries that have not been moved to the journal.
func live(database string, now int) string {
	pending := isPending(database, now)
	webhook := "webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND " + current
	if database == dialect.Postgres {
		webhook = "LATERAL (SELECT w.id FROM webhooks w WHERE w.store_id = d.store_id AND w.id = d.webhook_id AND " + current + " LIMIT 1) w ON true"
	}
	return `SELECT d.id, d.store_id, d.webhook_id, d.event_id, d.event_type, d.attempts, d.created_at,
 CASE WHEN d.lease IS NULL AND w.id IS NOT NULL THEN d.due_at END AS due_at,
 CASE WHEN ` + pending + ` THEN 'pending' ELSE 'cancelled' END AS status,
 CASE WHEN NOT ` + pending + ` THEN COALESCE(` + cancelledAt + `,
  (SELECT g.disabled_at FROM webhooks g WHERE g.id = d.webhook_id), d.created_at) END AS finished_at
 FROM deliveries d LEFT JOIN ` + webhook
}

// Search says which deliveries of a store to list.
type Search struct {
	StoreID uuid.UUID
	// WebhookID is a webhook of the store, or uuid.Nil for all.
	WebhookID uuid.UUID
	// From is a time before which no delivery of the webhook was made, or zero. It spares the
	// journal's days before it.
	From time.Time
	// Status is one of Statuses, or empty for all.
	Status string
	// EventType is the type of the event delivered, or empty for all.
	EventType string
	// Before is a delivery's id: only those before it in the list, the older ones, are listed.
	// uuid.Nil is before all of them.
	Before uuid.UUID
	// Limit bounds how many are listed.
	Limit int

	// now is the store's Moment.
	now any
}

// Entries lists the newest deliveries that match. It is one statement, so that a delivery that
// ends meanwhile is seen once. It reads as many entries of the journal as it lists, of each
// status, straight down the index; for one webhook or one type also the store's others between them.
// What has not been moved to the journal it may read whole.
func Entries(ctx context.Context, s *db.DB, which Search) ([]Entry, error) {
	tx, err := s.Reader().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	if s.Dialect() == dialect.Postgres {
		if _, err := tx.ExecContext(ctx, inOrder); err != nil {
			return nil, fmt.Errorf("list deliveries: %w", err)
		}
	}
	which.now = s.Moment()
	query, args := which.statement(s.Dialect())
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	entries, err := scanEntries(rows)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return entries[:min(len(entries), which.Limit)], nil
}

// inOrder makes the transaction read an index that has the order asked for. A day that has no
// statistics yet, as every new one, looks so small to PostgreSQL that it would read all of the
// store's rows and sort them.
const inOrder = "SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = off"

// statement is the search's text and arguments. Each status is a search of its own, since the
// index that sorts by id starts with it; each of them may have all that is listed. The limit
// stands in the text: as an argument it would make PostgreSQL plan the statement anew at every
// call.
func (w Search) statement(database string) (string, []any) {
	args := []any{w.StoreID}
	which := ""
	if w.WebhookID != uuid.Nil {
		args = append(args, w.WebhookID)
		which += " AND d.webhook_id = $2"
		if !w.From.IsZero() {
			args = append(args, id.Floor(w.From.Add(-clockSpread)))
			which += " AND d.id >= $3"
		}
	}
	if w.EventType != "" {
		args = append(args, w.EventType)
		which += fmt.Sprintf(" AND d.event_type = $%d", len(args))
	}
	// What the index is read down from.
	last := "<= ($1, '%[1]s', '" + uuid.Max.String() + "')"
	older := ""
	if w.Before != uuid.Nil {
		args = append(args, w.Before)
		last = fmt.Sprintf("< ($1, '%%[1]s', $%d)", len(args))
		older = fmt.Sprintf(" AND d.id < $%d", len(args))
	}
	limit := " LIMIT " + strconv.Itoa(w.Limit)
	var parts []string
	if w.Status == "" || w.Status == Pending || w.Status == Cancelled {
		args = append(args, w.now)
		now := len(args)
		part := live(database, now) + " WHERE d.store_id = $1" + which + older
		if database == dialect.SQLite {
			// Read by the ids, and not by the store and sorted.
			part = live(database, now) + " WHERE +d.store_id = $1" + strings.Replace(which, " d.webhook_id", " +d.webhook_id", 1) + older
		}
		switch w.Status {
		case Pending:
			part += " AND " + isPending(database, now)
		case Cancelled:
			// Without a cancellation under way there are none, however much is pending.
			part += " AND NOT " + isPending(database, now) + " AND EXISTS (SELECT 1 FROM cancellations WHERE store_id = $1)"
		}
		parts = append(parts, "SELECT * FROM ("+part+" ORDER BY d.id DESC"+limit+") AS live")
	}
	for _, status := range []string{Succeeded, Failed, Cancelled} {
		if w.Status != "" && w.Status != status {
			continue
		}
		part := fmt.Sprintf(endedPostgres+last, status, uuid.Nil) + which + " ORDER BY store_id DESC, status DESC, id DESC"
		if database == dialect.SQLite {
			part = endedColumns + " WHERE store_id = $1 AND status = '" + status + "'" + which + older + " ORDER BY id DESC"
		}
		parts = append(parts, "SELECT * FROM ("+part+limit+") AS "+status)
	}
	return strings.Join(parts, "\nUNION ALL "), args
}

// endedPostgres is the store's part of the journal of one status. Said by equalities, PostgreSQL
// might read the rows of all stores by their ids and leave out the others', which is quick when the
// store has many and lasts when they are old: compared as rows, only the index that has the three
// columns is in the order asked for. Where it ends is appended.
const endedPostgres = endedColumns + `
 WHERE (store_id, status, id) >= ($1, '%[1]s', '%[2]s') AND (store_id, status, id) `

// Querier runs a query: a *sql.DB, or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// FindEntry returns the delivery of the store's with this id, read by q, whichever tenant it belongs
// to. It returns ErrNoDelivery when there is none, or none any more.
func FindEntry(ctx context.Context, s *db.DB, q Querier, deliveryID uuid.UUID) (Entry, error) {
	rows, err := q.QueryContext(ctx, findEntry(s.Dialect()), deliveryID, s.Moment())
	if err != nil {
		return Entry{}, fmt.Errorf("read the delivery: %w", err)
	}
	entries, err := scanEntries(rows)
	if err != nil {
		return Entry{}, fmt.Errorf("read the delivery: %w", err)
	}
	if len(entries) == 0 {
		return Entry{}, ErrNoDelivery
	}
	return entries[0], nil
}

func findEntry(database string) string {
	return live(database, 2) + " WHERE d.id = $1 UNION ALL " + endedColumns + " WHERE id = $1"
}

// FindPending returns the id of a pending delivery of an event to a webhook. It returns
// ErrNoDelivery when there is none.
func FindPending(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID, eventID uuid.UUID) (uuid.UUID, error) {
	if err := planSafely(ctx, tx, s); err != nil {
		return uuid.Nil, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT id FROM ("+live(s.Dialect(), 4)+` WHERE d.store_id = $1 AND d.event_id >= $3 AND d.event_id <= $3
  AND d.webhook_id = $2 AND `+isPending(s.Dialect(), 4)+" ORDER BY d.event_id LIMIT 1) p", storeID, webhookID, eventID, s.Moment())
	if err != nil {
		return uuid.Nil, fmt.Errorf("look for a pending delivery: %w", err)
	}
	var found uuid.NullUUID
	if err := each(rows, func() error { return rows.Scan(&found) }); err != nil {
		return uuid.Nil, fmt.Errorf("look for a pending delivery: %w", err)
	}
	if !found.Valid {
		return uuid.Nil, ErrNoDelivery
	}
	return found.UUID, nil
}

// ErrNoDelivery says that there is no delivery with this id.
var ErrNoDelivery = errors.New("no such delivery")

// scanEntries reads the rows, newest first, and closes them.
func scanEntries(rows *sql.Rows) ([]Entry, error) {
	defer func() { _ = rows.Close() }()
	var entries []Entry
	for rows.Next() {
		var (
			e             Entry
			attempts      []byte
			due, finished storedTime
			err           error
		)
		if err := rows.Scan(&e.ID, &e.StoreID, &e.WebhookID, &e.EventID, &e.EventType, &attempts, &e.CreatedAt, &due, &e.Status, &finished); err != nil {
			return nil, err
		}
		if e.Attempts, err = Attempts(attempts); err != nil {
			return nil, err
		}
		e.NextAttemptAt, e.FinishedAt = due.at, finished.at
		entries = append(entries, e)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(b.ID.String(), a.ID.String()) })
	return entries, nil
}

// storedTime reads a time that may be null and that SQLite, in a column made by an expression,
// gives as the milliseconds that it stores.
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
