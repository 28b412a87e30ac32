// Package queue owns the tables that lead from an event to its deliveries: the outbox, the deliveries
// that wait or are being attempted, and the journal of finished ones. Workers claim deliveries and return
// their outcomes; package webhooks adds deliveries and cancels them.
//
//	outbox ──Relay──► deliveries: waiting ◄────────────┐
//	                    │                              │ Finish: another attempt, later
//	                    └─Claim─► under a lease ───────┤ Release, or the lease ends
//	                                                   │
//	finished_deliveries: succeeded, failed, cancelled ◄┘ Finish, StepCancellation
//
// A lease is a token and an end by the database's clock. No transaction is open during an attempt. An
// outcome counts only while its token is still on the row, so a worker that was too slow overwrites
// nothing. When a worker dies, its leases end and the rows are due again.
//
// Relay leases at once as many deliveries as its worker has room for, so that on a quiet installation
// one transaction lies between an event and its attempt. Claim leases by lane, which is the first
// attempts, or the retries, of one webhook. A worker claims only from lanes in which it has room, so
// nothing reads what waits for a webhook that hangs.
//
// PostgreSQL keeps deleted rows while a transaction is open that might see them, and a search from the
// oldest row on reads them all. So a search starts where the last one ended, or shortly before. For rows
// that were committed late, some searches start further back, and the further the less often.
package queue

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"time"

	entdialect "entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// Queue is one worker's access to the tables. One goroutine may call Relay, Claim and Due; any may call
// the other methods.
type Queue struct {
	db      *db.DB
	dialect *dialect
	outbox  floor
	due     struct {
		at   time.Time // by the database's clock: until when Due has read
		full time.Time // when it last read everything
	}

	marking sync.Mutex
	// unmarked are the webhooks with a success that is still to be marked, because their rows were locked.
	unmarked map[uuid.UUID]history
}

// On returns the queue of a database. Its connections should have Settings.
func On(s *db.DB) *Queue { return &Queue{db: s, dialect: dialectOf(s)} }

// dialect is what differs between the databases: the statements, and the steps that are one statement on
// PostgreSQL and several on SQLite. $1, $2, … are the same arguments on both. SQLite accepts arguments
// that a statement does not use, PostgreSQL refuses them.
type dialect struct {
	moment string // the present, given the store's Moment as argument %d
	later  string // the present, $1, and $2 milliseconds
	// The clause of a SELECT that locks its rows, and of one that also skips rows locked by others.
	forUpdate, skipLocked string
	// planSafely is what a transaction on connections without Settings runs first, "" for nothing.
	planSafely string
	// leftover ends the names of the tables from which Sweep deletes row by row.
	leftover string
	// byAnyColumn precedes a column to keep the database from using its index.
	byAnyColumn string

	take, drop    string // reads entries of the outbox, and deletes them; drop is "" where take deletes them too
	insert        string // deliveries
	due, dueSince string
	end           []string // the first moves deliveries to the journal
	wait, release string
	health        string
	failing       string // marks webhooks that fail, unless they do already
	relapsed      string // marks webhooks that fail, anew
	healthy       string // marks webhooks that fail no longer
	missed        string
	hold          string // a resend
	keepQueued    string // locks the outbox entries of a page's events, "" where there is one writer
	webhookOf     string // the join of a delivery d to its webhook w, which is null unless d is of its epoch
	backlog       string
	contains      string                                        // whether an event's payload contains text $5
	ended         func(status, which string, before int) string // the statement of a part of the journal

	// search returns the id above which Relay searches the outbox, and whether it is to search.
	search   func(context.Context, *Queue) (after int64, found bool, err error)
	claim    func(context.Context, *Queue, []Want, time.Duration, *Claimed) error
	movePage func(ctx context.Context, tx *sql.Tx, now any, c cancellation) (looked, error)
	// mark runs one of the statements that mark webhooks, and returns those that it skipped.
	mark func(ctx context.Context, on execer, statement string, at any, webhooks []uuid.UUID) ([]uuid.UUID, error)
	// together runs the statements of write one after the other: in one transaction on SQLite, each in
	// its own on PostgreSQL.
	together func(ctx context.Context, q *Queue, write func(execer) error) error
}

func dialectOf(s *db.DB) *dialect {
	if s.Dialect() == entdialect.SQLite {
		return sqlite
	}
	return postgres
}

// present is the present in a statement whose argument n is the store's Moment.
func (d *dialect) present(n int) string { return fmt.Sprintf(d.moment, n) }

// planSafely gives one transaction the Settings, on a connection of a server or a command, which lacks
// them.
func planSafely(ctx context.Context, tx execer, d *dialect) error {
	if d.planSafely == "" {
		return nil
	}
	if _, err := tx.ExecContext(ctx, d.planSafely); err != nil {
		return fmt.Errorf("set how to plan: %w", err)
	}
	return nil
}

// readSafely runs read in a transaction with the Settings that changes nothing. PostgreSQL takes a day
// without statistics, which every new one is, for so small that it would read all of the store's rows and
// sort them.
func readSafely(ctx context.Context, s *db.DB, read func(tx *sql.Tx) error) error {
	tx, err := s.Reader().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	if err := planSafely(ctx, tx, dialectOf(s)); err != nil {
		return err
	}
	return read(tx)
}

// Lane is the first attempts or the retries of one webhook.
type Lane struct {
	StoreID, WebhookID uuid.UUID
	Retry              bool
}

// Delivery is a delivery under a lease, with all that its attempt needs.
type Delivery struct {
	Lane
	ID, Lease uuid.UUID
	EventID   uuid.UUID
	EventType string
	// Attempts is the column of the attempts made so far.
	Attempts  []byte
	CreatedAt time.Time
	// Epoch is that of the webhook when the delivery was made.
	Epoch int64
	// Enabled is false when the webhook has been disabled or deleted since, even if it was enabled again.
	// The caller then cancels the delivery, and the fields below are empty.
	Enabled bool
	URL     string
	// Secret is sealed with the key SecretKey under the webhook's id.
	Secret    []byte
	SecretKey string
	// Payload is the body to send, byte for byte; nil when the event has been deleted.
	Payload []byte
	// RequestID is the request that caused the event, the zero UUID when none did.
	RequestID uuid.UUID
	// Trace is W3C's traceparent of the change; empty when there was none.
	Trace string
}

// cause scans the request and the trace that led to an event.
type cause struct {
	request uuid.NullUUID
	trace   sql.NullString
}

func (c cause) set(d *Delivery) { d.RequestID, d.Trace = c.request.UUID, c.trace.String }

// inTx runs fn in a transaction of the writer's.
func (q *Queue) inTx(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := q.db.Writer().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// execer is a *sql.DB or a transaction.
type execer interface {
	db.Querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// write runs a statement whose arguments are a time and rows, and returns how many rows it changed. It
// does nothing without rows.
func write[T any](ctx context.Context, on execer, statement string, at any, rows []T) (int64, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	set, err := rowset(rows)
	if err != nil {
		return 0, err
	}
	return affected(on.ExecContext(ctx, statement, at, set))
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// rowset encodes rows as JSON, the one argument that carries them to a statement.
func rowset[T any](rows []T) (string, error) {
	text, err := json.Marshal(rows)
	if err != nil {
		return "", fmt.Errorf("encode rows: %w", err)
	}
	return string(text), nil
}

// idsIn reads the rows of a query whose one column is an id.
func idsIn(rows iter.Seq[db.Row]) (ids []uuid.UUID, err error) {
	for row := range rows {
		var id uuid.UUID
		if err := row.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// wrap adds the operation to an error; nil stays nil.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
