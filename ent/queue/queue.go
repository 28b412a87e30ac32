// Package queue owns the tables that lead from an event to its deliveries: what there is to do,
// who is doing it, and what became of it. Workers take work from it and give results back; the
// operator's side adds to it and cancels.
//
//	outbox ──Relay──► deliveries: waiting ◄────────────┐
//	                    │                              │ Finish: another attempt, later
//	                    └─Claim─► under a lease ───────┤ Release, or the lease ends
//	                                                   │
//	finished_deliveries: succeeded, failed, cancelled ◄┘ Finish, StepCancellation
//
// A lease is a token and a time by the database's clock. No transaction is open while an attempt
// is made; what comes back counts only while its token is still on the row, so a worker that was
// too slow overwrites nothing. A worker that dies loses nothing: its leases end, and the rows are
// due again. A transaction that dies leaves everything as it was.
//
// Relay leases at once what its worker has room for, so that an event on a quiet installation
// needs one transaction until it is sent. What is claimed is claimed by lane: the first attempts,
// or the retries, of one webhook. A worker asks for the lanes in which it has room, so however
// much waits for a webhook that hangs is never looked at.
//
// PostgreSQL cannot forget deleted rows while any transaction is open that might see them, and a
// search that starts at the oldest passes them all. So searches start where the last one ended or
// a moment before, and the further back they look, the seldomer they do: for what was written late.
package queue

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	entdialect "entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// Queue is one worker's access to the work. One goroutine may call Relay, Claim and Due; any may
// call the rest.
type Queue struct {
	store   *db.DB
	dialect *dialect
	outbox  floor
	due     struct {
		at   time.Time // by the database's clock: up to when Due has looked
		full time.Time // when it last looked at everything
	}

	marking sync.Mutex
	// unmarked are the webhooks with a success that is still to be marked, as somebody held their rows.
	unmarked map[uuid.UUID]history
}

// On returns the queue of a database. Its connections should have Settings.
func On(s *db.DB) *Queue { return &Queue{store: s, dialect: dialectOf(s)} }

// dialect is what differs between the databases: the statements, and three steps that are one
// statement on PostgreSQL and several on SQLite. $1, $2, … are the same arguments on both; SQLite may
// leave some of them unused, PostgreSQL refuses that.
type dialect struct {
	moment string // the present, given the store's Moment as argument %d
	later  string // the present, $1, and $2 milliseconds
	// What follows a SELECT of rows to take, and one that passes by those that others have taken.
	forUpdate, skipLocked string
	// planSafely is what a transaction on connections without Settings runs first, "" for nothing.
	planSafely string
	// leftover ends the names of the tables from which Sweep deletes row by row.
	leftover string
	// byAnyColumn stands before a column whose index is not to be used.
	byAnyColumn string

	take, drop    string // entries of the outbox, and the deletion of those taken, "" where taking deletes them
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
	keepQueued    string // keeps a page's events in the outbox, "" where nobody else can take them
	webhookOf     string // the join of a delivery d to its webhook w, which is null unless d is of its epoch
	backlog       string
	contains      string                                        // whether an event's payload contains text $5
	ended         func(status, which string, before int) string // the statement of a part of the journal

	// search returns the id above which Relay searches the outbox, and whether it is to search.
	search   func(context.Context, *Queue) (after int64, found bool, err error)
	claim    func(context.Context, *Queue, []Want, time.Duration, *Claimed) error
	movePage func(ctx context.Context, tx *sql.Tx, now any, c cancellation) (looked, error)
	// mark runs one of the statements that mark webhooks, and returns those that it passed by.
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

// planSafely gives a transaction on a connection without Settings, as the operator's side has them,
// plans that stay good however full the tables become.
func planSafely(ctx context.Context, tx execer, d *dialect) error {
	if d.planSafely == "" {
		return nil
	}
	if _, err := tx.ExecContext(ctx, d.planSafely); err != nil {
		return fmt.Errorf("set how to plan: %w", err)
	}
	return nil
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
	// Epoch is that of the webhook when the delivery was made; 0 when a release without epochs made it.
	Epoch int64
	// Enabled is false when the webhook was disabled or deleted since, even if it was enabled again:
	// the delivery is to be cancelled, and the fields below are empty.
	Enabled bool
	URL     string
	// Secret is sealed with the key SecretKey under the webhook's id.
	Secret    []byte
	SecretKey string
	// Payload is the body to send, in its exact bytes; nil when the event is kept no longer.
	Payload []byte
	// RequestID is the request that caused the event, the zero UUID when none did.
	RequestID uuid.UUID
	// Trace is W3C's traceparent of the change; empty when there was none.
	Trace string
}

// cause is the part of an event that holds what led to it.
type cause struct {
	request uuid.NullUUID
	trace   sql.NullString
}

func (c cause) set(d *Delivery) { d.RequestID, d.Trace = c.request.UUID, c.trace.String }

// inTx runs fn in a transaction of the writer's.
func (q *Queue) inTx(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := q.store.Writer().BeginTx(ctx, nil)
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
	Querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// write runs a statement whose arguments are a time and rows, if there are any, and returns how many
// rows it changed.
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

// rowset is the one JSON argument that carries the rows of a statement.
func rowset[T any](rows []T) (string, error) {
	text, err := json.Marshal(rows)
	if err != nil {
		return "", fmt.Errorf("encode rows: %w", err)
	}
	return string(text), nil
}

// each scans every row of a query and closes them. err is the query's.
func each(rows *sql.Rows, err error, scan func() error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// wrap names the operation that an error ended; nil stays nil.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
