// Package queue owns the deliveries of events to webhooks: those that wait or are being attempted, and the finished ones. All
// deliveries together are the delivery journal. The transaction of a change adds the deliveries of its events (package
// fanout), resends add further ones, and package webhooks adds single ones. Workers claim deliveries and return their outcomes.
// Package webhooks cancels all deliveries of a webhook, as Disable does.
//
//	commit of a change ──► deliveries: waiting ◄───────┐
//	                         │                         │ Finish: another attempt, later
//	                         └─Claim─► under a lease ──┤ Release, or the lease ends
//	                                                   │
//	finished_deliveries: succeeded, failed, cancelled ◄┘ Finish, MoveCancelled
//
// A lease is a token and an end by the database's clock. No transaction is open during an attempt. An outcome counts only while
// its token is still on the row, so a worker that was too slow overwrites nothing. When a worker dies, its leases end and the
// rows are due again.
//
// Claim leases by lane, which is the first attempts, or the retries, of one webhook. A worker claims only from lanes in which
// it has room, so it does not read the waiting deliveries of a webhook that hangs.
//
// A webhook has an epoch, a number that grows when it is disabled, and a delivery has the epoch that its webhook had when the
// delivery was made. A delivery is cancelled if the webhook's epoch has changed, or if its webhook is disabled or deleted. So
// one change of the webhook's row cancels any number of deliveries, also those of changes that have not committed yet.
package queue

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
)

// Queue is one worker's access to the tables. Only one goroutine at a time may call Relay, DropRelayed, Claim, Due and Found;
// any number may call the other methods.
type Queue struct {
	db      *db.DB
	dialect *dialect
	// ActivityRetention is how long Sweep keeps the activity journal; 0 means for ever.
	ActivityRetention time.Duration

	relayed []fanout.Delivery // outbox entries that DropRelayed must delete
	due     time.Time         // time, by the database's clock, up to which Due has read
	// floors has for each lane the time before which no delivery is due without a lease. A claim searches from there, to skip
	// the deleted rows that PostgreSQL keeps while an older transaction is open.
	floors map[Lane]time.Time
}

// New returns a queue in the database d, whose connections should have Settings.
func New(d *db.DB) *Queue { return &Queue{db: d, dialect: dialectOf(d), floors: map[Lane]time.Time{}} }

// Lane is the first attempts of one webhook, or, if Retry is true, its retries.
type Lane struct {
	StoreID   uuid.UUID `json:"store_id"`
	WebhookID uuid.UUID `json:"webhook_id"`
	Retry     bool      `json:"retry"`
}

// Delivery is a leased delivery, with everything that its attempt needs.
type Delivery struct {
	Lane
	ID, Lease uuid.UUID
	EventID   uuid.UUID
	EventType string
	// Attempts has the earlier ones, as JSON.
	Attempts  []byte
	CreatedAt time.Time
	// DueAt is when the attempt became due.
	DueAt time.Time
	// Epoch is the webhook's epoch when the delivery was made.
	Epoch int64
	URL   string
	// Secret is sealed with the key SecretKey. The webhook's id is the seal's context.
	Secret    []byte
	SecretKey string
	// Payload is the body to send, byte for byte; nil if the event has been deleted.
	Payload []byte
	// RequestID is that of the request that caused the event, or zero.
	RequestID uuid.UUID
	// Trace is the W3C traceparent of the change, or "".
	Trace string
}

func (q *Queue) inTx(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := q.db.Writer().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after the commit
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

type execer interface {
	db.Querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// write runs the named statement with the current time and the rows as JSON, or nothing if rows is empty. It returns how many
// rows changed.
func write[T any](ctx context.Context, q *Queue, conn execer, name string, rows []T) (int64, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	set, err := rowset(rows)
	if err != nil {
		return 0, err
	}
	return q.dialect.exec(ctx, conn, name, q.db.TimeArg(), set)
}

// rowset makes rows one argument of a statement.
func rowset[T any](rows []T) (string, error) {
	text, err := json.Marshal(rows)
	if err != nil {
		return "", fmt.Errorf("encode rows: %w", err)
	}
	return string(text), nil
}

func scanIDs(rows iter.Seq[db.Row]) (ids []uuid.UUID, err error) {
	for row := range rows {
		var id uuid.UUID
		if err := row.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func idStrings(ids []uuid.UUID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return texts
}

func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
