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

	"go.storefront.example/ent/id"
	"go.storefront.example/ent/store"
)

// Pending is the state of a delivery that waits for an attempt, or of which one is being made.
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

const (
	liveColumns = `SELECT id, store_id, webhook_id, event_id, event_type, attempts, created_at,
 CASE WHEN lease IS NULL THEN due_at END AS due_at, 'pending' AS status, CAST(NULL AS timestamptz) AS finished_at FROM deliveries`
	endedColumns = `SELECT id, store_id, webhook_id, event_id, event_type, attempts, created_at,
 CAST(NULL AS timestamptz) AS due_at, status, finished_at FROM finished_deliveries`
)

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
}

// Entries lists the newest deliveries that match. It is one statement, so that a delivery that
// ends meanwhile is seen once. It reads as many entries of the journal as it lists, of each
// status, straight down the index; for one webhook or one type also the store's others between them.
// What is pending it reads whole.
func Entries(ctx context.Context, s *store.Store, which Search) ([]Entry, error) {
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
		which += " AND webhook_id = $2"
		if !w.From.IsZero() {
			args = append(args, id.Floor(w.From.Add(-clockSpread)))
			which += " AND id >= $3"
		}
	}
	if w.EventType != "" {
		args = append(args, w.EventType)
		which += fmt.Sprintf(" AND event_type = $%d", len(args))
	}
	// What the index is read down from.
	last := "<= ($1, '%[1]s', '" + uuid.Max.String() + "')"
	older := ""
	if w.Before != uuid.Nil {
		args = append(args, w.Before)
		last = fmt.Sprintf("< ($1, '%%[1]s', $%d)", len(args))
		older = fmt.Sprintf(" AND id < $%d", len(args))
	}
	limit := " LIMIT " + strconv.Itoa(w.Limit)
	var parts []string
	for _, status := range Statuses() {
		var part string
		switch {
		case w.Status != "" && w.Status != status:
			continue
		case status == Pending:
			part = liveColumns + " WHERE store_id = $1" + which + older + " ORDER BY id DESC"
		case database == dialect.SQLite:
			part = endedColumns + " WHERE store_id = $1 AND status = '" + status + "'" + which + older + " ORDER BY id DESC"
		default:
			part = fmt.Sprintf(endedPostgres+last, status, uuid.Nil) + which + " ORDER BY store_id DESC, status DESC, id DESC"
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

// FindEntry returns the delivery with this id, whichever store it belongs to. It returns
// ErrNoDelivery when there is none, or none any more.
func FindEntry(ctx context.Context, q Querier, deliveryID uuid.UUID) (Entry, error) {
	rows, err := q.QueryContext(ctx, liveColumns+" WHERE id = $1 UNION ALL "+endedColumns+" WHERE id = $1", deliveryID)
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
