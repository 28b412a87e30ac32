package hook

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

// Open opens a database as db.Open does, and adds the hook to its clients, so that their changes are recorded.
func Open(ctx context.Context, c db.Config) (*db.DB, error) { return db.Open(ctx, c, register) }

// Change is one change of a store's data: its transaction, the call that makes it, its clock, its locks and its records. It is
// the context of its statements, so nothing can be changed beside it by mistake. One goroutine uses it.
type Change struct {
	context.Context
	// Call is the call of the context in which the change began.
	tenant.Call
	// DB is the database, and Tx the transaction.
	DB *db.DB
	Tx *ent.Tx

	now           time.Time            // the time of the change; zero before the first call of Time
	journal       func(op ent.Op) bool // reports whether to journal a mutation; nil journals all
	withoutEvents bool
	answer        shownObject // what the function of Answer returned; nil for none
	rows          map[uuid.UUID]lockedRow
	registered    bool // true once the commit will write the records
	changes       []recordedMutation
	events        []uuid.UUID // ids of the events written
}

// shownObject is an object of the API, as a GET shows it.
type shownObject interface {
	proto.Message
	GetId() string
}

// contextKey is the key under which a Change is a value of itself. ent passes a hook nothing but the context and the mutation,
// so the hook finds the change there.
type contextKey struct{}

// Value returns c for contextKey, and the value of the context in which the change began for other keys.
func (c *Change) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Option leaves out some of a change's records.
type Option func(*Change)

// WithoutJournal leaves out the journal entries of mutations. An erasure uses it, because the entries would keep the values
// that it erases. Record still adds its entry.
func WithoutJournal(c *Change) { c.journal = func(ent.Op) bool { return false } }

// WithoutCreations leaves out the journal entries of created rows. An import uses it, because it has one entry for all rows
// that it creates.
func WithoutCreations(c *Change) { c.journal = func(op ent.Op) bool { return !op.Is(ent.OpCreate) } }

// WithoutEvents leaves out the events that the mutations of the change would cause.
func WithoutEvents(c *Change) { c.withoutEvents = true }

// raceAttempts is how often Run runs fn at most because of a unique value. Two runs are usually enough: if another transaction
// has stored the value, the second run reads the row with it.
const raceAttempts = 5

// Run makes a change: it runs fn in a transaction, and commits it together with the journal entries, events and deliveries. fn
// locks the rows that it changes (LockRow), and then asks for the time (Change.Time).
//
// fn may run several times, because a transaction that conflicts with another one is run again; so it must change nothing else.
// Run refuses a request with fields that could not be decoded (apijson.DecodedOf), because it would make a part of the change.
func Run(ctx context.Context, d *db.DB, fn func(c *Change) error, options ...Option) (err error) {
	if invalid := apijson.DecodedOf(ctx).Invalid; invalid != nil {
		return fmt.Errorf("change of a request that was not decoded whole: %w", invalid)
	}
	call := tenant.CallOf(ctx)
	for range raceAttempts {
		err = d.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
			c := &Change{Context: ctx, Call: call, DB: d, Tx: tx, rows: map[uuid.UUID]lockedRow{}}
			for _, option := range options {
				option(c)
			}
			return fn(c)
		})
		if !db.IsUnique(err) {
			return err
		}
	}
	return fmt.Errorf("lost the race for a unique value %d times: %w", raceAttempts, err)
}

// Answer makes a change as Run does, and returns the answer of fn. If the answer is an object of the API, such as a Product,
// the events about this object carry it.
func Answer[M any](ctx context.Context, d *db.DB, fn func(c *Change) (M, error), options ...Option) (answer M, err error) {
	err = Run(ctx, d, func(c *Change) (err error) {
		answer, err = fn(c)
		c.answer, _ = any(answer).(shownObject)
		return err
	}, options...)
	if err != nil {
		var none M
		return none, err
	}
	return answer, nil
}

// Time returns the moment of a change of the locked rows with these ids: the current time or, if it is later, one
// millisecond after the last moment of these rows. So the moments of one object increase from commit to commit, even if the
// clocks of two servers differ.
//
// The current time is read at the first call and stays the same; it is in UTC and whole milliseconds. After the first call no
// further row can be locked, because waiting for a lock would make the time old.
func (c *Change) Time(ids ...uuid.UUID) time.Time {
	if c.now.IsZero() {
		c.now = c.DB.Now()
	}
	at := c.now
	for _, id := range ids {
		if next := c.rows[id].lastMoment.Add(time.Millisecond); next.After(at) {
			at = next
		}
	}
	return at
}

// register makes the commit write the records. The first record calls it.
func (c *Change) register() {
	if c.registered {
		return
	}
	c.registered = true
	c.Tx.OnCommit(func(next ent.Committer) ent.Committer {
		return ent.CommitFunc(func(ctx context.Context, tx *ent.Tx) error {
			queued, err := c.write()
			if err != nil {
				return err
			}
			if err := next.Commit(ctx, tx); err != nil {
				return err
			}
			c.announce(queued)
			return nil
		})
	})
}

// announce signals the committed events to the store's followers and, if queued is true, to the workers.
func (c *Change) announce(queued bool) {
	if len(c.events) > 0 {
		c.Request.AddEvents(c.events...)
		c.DB.SignalEvents(c.Store.ID)
	}
	if queued {
		c.DB.Announce()
	}
}
