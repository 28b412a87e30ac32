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

// recorder collects the changes of one transaction. It is a value of the transaction's context.
type recorder struct {
	db            *db.DB
	tx            *ent.Tx
	now           time.Time            // the time of the transaction's changes; zero before the first call of Time
	journal       func(op ent.Op) bool // reports whether to journal a mutation; nil journals all
	withoutEvents bool
	eventData     func() (uuid.UUID, proto.Message) // the function source of EventData, or nil
	rows          map[uuid.UUID]lockedRow
	registered    bool // true once the commit will write the records
	changes       []recordedMutation
	events        []uuid.UUID // ids of the events written
}

type contextKey struct{}

func recorderFrom(ctx context.Context) *recorder {
	r, ok := ctx.Value(contextKey{}).(*recorder)
	if !ok {
		panic("hook: used outside a transaction")
	}
	return r
}

// Option leaves out some of a transaction's records, or supplies their data.
type Option func(*recorder)

// WithoutJournal leaves out the journal entries of mutations. An erasure uses it, because the entries would keep the values
// that it erases. Record still adds its entry.
func WithoutJournal(r *recorder) { r.journal = func(ent.Op) bool { return false } }

// WithoutCreations leaves out the journal entries of created rows. An import uses it, because it has one entry for all rows
// that it creates.
func WithoutCreations(r *recorder) { r.journal = func(op ent.Op) bool { return !op.Is(ent.OpCreate) } }

// WithoutEvents leaves out the events that the mutations of the transaction would cause.
func WithoutEvents(r *recorder) { r.withoutEvents = true }

// EventData sets the function source, from which the commit takes the data of the events of one object, so that the commit
// need not read the object. The commit calls source after the last change. id is the object's id, and data is the object as
// a GET returns it right after the commit.
func EventData(source func() (id uuid.UUID, data proto.Message)) Option {
	return func(r *recorder) { r.eventData = source }
}

// WithTx runs fn in one transaction and commits it (db.WithTx), together with the journal entries, events and deliveries
// of the changes that fn makes. fn locks the rows that it changes (LockRow), and then asks for the time of its changes
// (Time).
//
// fn may run several times, because a transaction that conflicts with another transaction is run again. So fn must change
// nothing outside the transaction.
//
// WithTx refuses a request with fields that could not be decoded (apijson.DecodedOf), because it would make only a part of the
// change.
func WithTx(ctx context.Context, d *db.DB, fn func(ctx context.Context, tx *ent.Tx) error, options ...Option) error {
	if invalid := apijson.DecodedOf(ctx).Invalid; invalid != nil {
		return fmt.Errorf("change of a request that was not decoded whole: %w", invalid)
	}
	return d.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		r := &recorder{db: d, tx: tx, rows: map[uuid.UUID]lockedRow{}}
		for _, option := range options {
			option(r)
		}
		return fn(context.WithValue(ctx, contextKey{}, r), tx)
	})
}

// raceAttempts is how often Change runs fn at most. Two runs are usually enough: if another transaction has stored the unique
// value, the second run reads the row with this value.
const raceAttempts = 5

// Change runs fn in a transaction as WithTx does. If another transaction has stored the same unique value first, Change runs
// fn again, at most raceAttempts times in all.
func Change(ctx context.Context, d *db.DB, fn func(ctx context.Context, tx *ent.Tx) error, options ...Option) error {
	var err error
	for range raceAttempts {
		if err = WithTx(ctx, d, fn, options...); !db.IsUnique(err) {
			return err
		}
	}
	return fmt.Errorf("lost the race for a unique value %d times: %w", raceAttempts, err)
}

// register makes the commit of the transaction write the records. The first change calls it.
func (r *recorder) register() {
	if r.registered {
		return
	}
	r.registered = true
	r.tx.OnCommit(func(next ent.Committer) ent.Committer {
		return ent.CommitFunc(func(ctx context.Context, tx *ent.Tx) error {
			queued, err := r.write(context.WithValue(ctx, contextKey{}, r), tx)
			if err != nil {
				return err
			}
			if err := next.Commit(ctx, tx); err != nil {
				return err
			}
			r.announce(ctx, queued)
			return nil
		})
	})
}

// announce signals the committed events to the store's followers and, if queued is true, to the workers.
func (r *recorder) announce(ctx context.Context, queued bool) {
	if len(r.events) > 0 {
		store, _, _ := tenant.From(ctx)
		tenant.CallOf(ctx).Request.AddEvents(r.events...)
		r.db.SignalEvents(store.ID)
	}
	if queued {
		r.db.Announce()
	}
}
