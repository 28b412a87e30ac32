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
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
)

const (
	// fullInterval is how often a search starts from the beginning.
	fullInterval = 10 * time.Second
	// nearReach is how far behind the present every search of the outbox looks, at least. Each
	// passes what was there in the meantime once more, dead rows too: a moment's at most.
	nearReach = 100 * time.Millisecond
	// farReach is how far behind the present a search looks every farInterval: far enough for a
	// transaction of some seconds that committed right after the one before.
	farReach    = 4 * time.Second
	farInterval = time.Second
	// dueReach is how far behind the last one a search of what became due begins.
	dueReach = 2 * time.Second
	// markGap is the least time between two marks.
	markGap = 5 * time.Millisecond
)

// Settings are what a worker's connections to PostgreSQL should have. The tables are mostly empty
// when statistics are taken and statements are planned, and the plans that are good for empty
// tables are ruinous for full ones: to the planner all ways into a table of one row cost the
// same. So the statements leave it one way only, whatever it believes: a row is looked up for
// itself by LATERAL with a LIMIT, by a range in the order of its id, which no index but the id's
// gives without sorting, and is changed at the place where it was found and locked.
func Settings() map[string]string {
	return map[string]string{
		"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
		// Where one index has the order, another one and a sort are never cheaper.
		"enable_sort": "off", "enable_incremental_sort": "off",
	}
}

// planSafely gives a transaction on a connection without Settings, as the operator's side has them,
// plans that stay good however full the tables become.
func planSafely(ctx context.Context, tx *ent.Tx, s *db.DB) error {
	if s.Dialect() == dialect.SQLite {
		return nil
	}
	if _, err := tx.ExecContext(ctx, setLocally()); err != nil {
		return fmt.Errorf("set how to plan: %w", err)
	}
	return nil
}

func setLocally() string {
	var set strings.Builder
	for _, name := range slices.Sorted(maps.Keys(Settings())) {
		fmt.Fprintf(&set, "SET LOCAL %s = %s;", name, Settings()[name])
	}
	return set.String()
}

// Queue is one worker's access to the work. One goroutine may call Relay, Claim and Due; any may
// call the rest.
type Queue struct {
	store  *db.DB
	outbox floor
	due    struct {
		at   time.Time // by the database's clock: up to when Due has looked
		full time.Time // when it last looked at everything
	}
}

// On returns the queue of a database. Its connections should have Settings.
func On(s *db.DB) *Queue { return &Queue{store: s} }

func (q *Queue) sqlite() bool { return q.store.Dialect() == dialect.SQLite }

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

// cause is the part of an event that tells what led to it.
type cause struct {
	request uuid.NullUUID
	trace   sql.NullString
}

func (c cause) tell(d *Delivery) { d.RequestID, d.Trace = c.request.UUID, c.trace.String }

// mark is how far the outbox had been taken at some time.
type mark struct {
	id int64
	at time.Time
}

// floor is above which id the outbox is searched. Transactions may commit in another order than
// they took their ids in, and what somebody else holds is passed by; so each search looks back
// to where it was a moment ago, one every farInterval to where it was seconds ago, and one every
// fullInterval begins at the beginning. While there is more than a batch, each search goes on where
// the last one ended: then nothing is passed twice, however many dead rows there are.
type floor struct {
	marks     []mark // of the last farReach, and the one before; both ids and times grow
	farAfter  time.Time
	fullAfter time.Time
	// behind is set while a search is not at its end, which is from then on above resume.
	behind bool
	resume int64
}

// start returns the id above which to look.
func (f *floor) start(now time.Time) int64 {
	if len(f.marks) > 0 && now.Before(f.marks[len(f.marks)-1].at) {
		f.marks = nil // the clock was set back
	}
	far := f.until(now.Add(-farReach))
	if far > 0 {
		f.marks = f.marks[far-1:]
		far = 1
	}
	if isOver(&f.farAfter, now, farInterval) {
		f.goBack(f.id(far))
	}
	if isOver(&f.fullAfter, now, fullInterval) {
		f.goBack(0)
	}
	if f.behind {
		return f.resume
	}
	return f.id(f.until(now.Add(-nearReach)))
}

// until counts the marks up to a time.
func (f *floor) until(t time.Time) int {
	return sort.Search(len(f.marks), func(i int) bool { return f.marks[i].at.After(t) })
}

// id is that of the n-th mark, the first being 1; 0 is before all.
func (f *floor) id(n int) int64 {
	if n == 0 {
		return 0
	}
	return f.marks[n-1].id
}

// goBack makes the next search start above id, if it did not start lower anyway.
func (f *floor) goBack(id int64) {
	if !f.behind || id < f.resume {
		f.behind, f.resume = true, id
	}
}

// found takes in how a search ended: the highest id that it took, and whether it took as many as
// it might, so that there may be more above.
func (f *floor) found(highest int64, now time.Time, more bool) {
	f.behind, f.resume = more, highest
	if n := len(f.marks); highest > f.id(n) && (n == 0 || now.Sub(f.marks[n-1].at) >= markGap) {
		f.marks = append(f.marks, mark{highest, now})
	}
}

// isOver tells whether it is after a time, and if so sets that to an interval from now. A clock
// that was set back does not make anybody wait.
func isOver(after *time.Time, now time.Time, interval time.Duration) bool {
	if !now.After(*after) && !now.Before(after.Add(-interval)) {
		return false
	}
	*after = now.Add(interval)
	return true
}

// rowset is the one JSON parameter that carries the rows of a statement.
func rowset[T any](rows []T) (string, error) {
	text, err := json.Marshal(rows)
	if err != nil {
		return "", fmt.Errorf("encode rows: %w", err)
	}
	return string(text), nil
}

// milliseconds is a duration as statements take it.
func milliseconds(d time.Duration) int64 { return d.Milliseconds() }

// each scans every row and closes them.
func each(rows *sql.Rows, scan func() error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}
