// Package erase takes data away for good: what names a customer (Forget), and a whole store (Store).
//
//	BeginForgetting: the customer's row, in one transaction ──► forgettings: unfinished
//	   Step: events with their deliveries ──► activity ──► the rest ──► the log of SQLite ──► finished: the receipt
//	   │ killed: any process continues from the position
//
//	stores.delete_at ──past──► Store: batch by batch, table by table ──► the store's row
//	   │ killed: any process begins again with what is left
//
// Amounts, references and dates of a forgotten customer's orders stay. What is written after BeginForgetting has
// nothing of the customer's, because events, journal and answers show the customer's row.
package erase

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/store"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

//go:embed erase.sql
var file string

var (
	postgres = db.Statements(strings.ReplaceAll(file, "{has}", `pg_catalog."position"`))
	sqlite   = db.Statements(strings.ReplaceAll(file, "{has}", "instr"))
)

const (
	// stepRows is how many rows one step looks at: its transaction then takes no longer than a request.
	stepRows = 200
	// busyPause is the wait for what is under way: an attempt of a delivery, or a reader of SQLite's log.
	busyPause = 250 * time.Millisecond
	// forgotten is what the values of a customer become where there must be a value.
	forgotten = "forgotten"
	// shortestName is how many bytes a name must have to be looked for in texts that a caller chose.
	shortestName = 3
)

// The passes of a forgetting, in their order.
const (
	eventsPass   = "events"
	activityPass = "activity"
	restPass     = "rest"
	logPass      = "log"
)

var (
	// ErrNone means that there is no such forgetting.
	ErrNone = errors.New("no such forgetting")
	// ErrMoving means that the store moves, and what names the customer with it.
	ErrMoving = errors.New("the store is moving")
)

// Forgetting is the progress of forgetting a customer and, when it is finished, its receipt. It holds no
// personal data.
type Forgetting struct {
	// CustomerID is the customer who is forgotten.
	CustomerID, StoreID uuid.UUID
	// How many rows were changed.
	Events, Deliveries, ActivityEntries, Notes, IdempotencyKeys, RefusedRequests int64
	CreatedAt                                                                    time.Time
	// FinishedAt is nil while there is something left to do.
	FinishedAt *time.Time

	pass       string
	positionAt time.Time // of the last row that the pass looked at
	positionID uuid.UUID // the same row
}

// on is a database with the statements for it.
type on struct{ *db.DB }

// sql returns a statement. {ids} are n parameters after the first before.
func (s on) sql(name string, before, n int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = "$" + strconv.Itoa(before+i+1)
	}
	return strings.NewReplacer("{ids}", strings.Join(ids, ", "), "{lock}", s.RowLock("")).
		Replace(db.Of(s.DB, postgres, sqlite)[name])
}

// exec runs a statement and returns how many rows it changed.
func (s on) exec(ctx context.Context, tx *ent.Tx, name string, args ...any) (int64, error) {
	return s.execIDs(ctx, tx, name, nil, args...)
}

// execIDs is exec with a list of ids after the other arguments.
func (s on) execIDs(ctx context.Context, tx *ent.Tx, name string, ids []uuid.UUID, args ...any) (int64, error) {
	result, err := tx.ExecContext(ctx, s.sql(name, len(args), len(ids)), withIDs(args, ids)...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return result.RowsAffected()
}

func withIDs(args []any, ids []uuid.UUID) []any {
	args = slices.Clone(args)
	for _, id := range ids {
		args = append(args, id)
	}
	return args
}

// BeginForgetting replaces what names a customer in the customer's row, and so in all that shows the customer, and orders the
// steps that take it out of what is kept. A customer who is forgotten already stays as it is. The caller's context is in the
// store; a customer whom it lacks is ent's NotFoundError. It fails with ErrMoving in a store that moves; the copy that a move
// leaves forgets as any store.
func BeginForgetting(ctx context.Context, s *db.DB, tx *ent.Tx, storeID, customerID uuid.UUID) (f Forgetting, err error) {
	o := on{s}
	owner, err := db.Lock(s, tx.Store.Query().Where(store.ID(storeID))).Only(ctx)
	switch {
	case err != nil:
		return f, fmt.Errorf("lock the store: %w", err)
	case owner.Moving != nil && *owner.Moving != tenant.Moved:
		return f, ErrMoving
	}
	hook.WhileMoving(ctx)
	for row := range db.Rows(ctx, tx, o.sql("wait for orders", 0, 0), storeID, customerID) {
		var id uuid.UUID
		if err := row.Scan(&id); err != nil {
			return f, fmt.Errorf("wait for orders: %w", err)
		}
	}
	c, err := db.LockRow(ctx, s, tx.Customer.Query().Where(customer.StoreID(storeID), customer.ID(customerID)))
	if err != nil {
		return f, err
	}
	email := resource.ForgottenEmail(c.ID)
	if c.Name == "" && c.Phone == nil && c.Email != nil && *c.Email == email {
		if f, err = o.read(ctx, tx, storeID, customerID); !errors.Is(err, ErrNone) {
			return f, err
		}
	}
	f = Forgetting{CustomerID: c.ID, StoreID: storeID, CreatedAt: hook.Time(ctx, c.ID)}
	name := ""
	if len(c.Name) >= shortestName {
		name = strings.ToLower(c.Name)
	}
	texts := []any{storeID, orEmpty(c.Email), orEmpty(c.Phone), name}
	if f.RefusedRequests, err = o.exec(ctx, tx, "clear refused", texts...); err != nil {
		return f, err
	}
	if f.IdempotencyKeys, err = o.exec(ctx, tx, "drop keys", texts...); err != nil {
		return f, err
	}
	hook.WithoutJournal(ctx) // it would keep the old values
	if err := tx.Customer.UpdateOne(c).SetName("").SetEmail(email).ClearPhone().
		SetSearch(resource.CustomerSearch("", &email, nil)).Exec(ctx); err != nil {
		return f, fmt.Errorf("forget the customer: %w", err)
	}
	hook.Record(ctx, "customer.forgotten", "customer", c.ID)
	// One who was forgotten before, and named again since.
	if _, err := o.exec(ctx, tx, "begin again", c.ID, storeID); err != nil {
		return f, err
	}
	_, err = o.exec(ctx, tx, "begin", c.ID, storeID, eventsPass, time.UnixMilli(0).UTC(), uuid.Nil, f.IdempotencyKeys,
		f.RefusedRequests, f.CreatedAt)
	return f, err
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// read reads a forgetting and locks it, or returns ErrNone.
func (s on) read(ctx context.Context, tx *ent.Tx, storeID, customerID uuid.UUID) (Forgetting, error) {
	f, err := Forgetting{CustomerID: customerID, StoreID: storeID}, ErrNone
	for row := range db.Rows(ctx, tx, s.sql("read", 0, 0), customerID, storeID) {
		err = row.Scan(&f.pass, &f.positionAt, &f.positionID, &f.Events, &f.Deliveries, &f.ActivityEntries, &f.Notes,
			&f.IdempotencyKeys, &f.RefusedRequests, &f.CreatedAt, &f.FinishedAt)
	}
	return f, err
}

// Unfinished lists forgettings with something left to do, with no more than their ids.
func Unfinished(ctx context.Context, s *db.DB) (found []Forgetting, err error) {
	for row := range db.Rows(ctx, s.Reader(), on{s}.sql("unfinished", 0, 0)) {
		var f Forgetting
		if err := row.Scan(&f.CustomerID, &f.StoreID); err != nil {
			return nil, fmt.Errorf("list forgettings: %w", err)
		}
		found = append(found, f)
	}
	return found, nil
}

// errBusy means that a step has to wait for others, and has changed nothing.
var errBusy = errors.New("busy")

// Step does one step of a forgetting in a transaction, and nothing when it is finished. While an event of the customer's is
// being delivered it waits a moment and changes nothing, so that a delivery is made before the forgetting is
// finished, or never. It returns ErrNone when there is no such forgetting.
func Step(ctx context.Context, s *db.DB, storeID, customerID uuid.UUID) (f Forgetting, err error) {
	o := on{s}
	if err := s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		hook.WhileMoving(ctx)
		f, err = o.read(ctx, tx, storeID, customerID)
		return err
	}); err != nil || f.FinishedAt != nil {
		return f, err
	}
	if f.pass == logPass {
		err = o.truncateLog(ctx)
	}
	before := f
	if err == nil {
		err = s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
			hook.WhileMoving(ctx)
			if f, err = o.read(ctx, tx, storeID, customerID); err != nil || f.FinishedAt != nil {
				return err
			}
			switch f.pass {
			case eventsPass:
				err = o.events(ctx, tx, &f)
			case activityPass:
				err = o.activity(ctx, tx, &f)
			case restPass:
				err = o.rest(ctx, tx, &f)
			default:
				if before.pass == logPass {
					f.FinishedAt = new(s.Now())
					_, err = notice.Write(ctx, tx, hook.Time(ctx), notice.Notice{Type: notice.CustomerForgotten, StoreID: storeID,
						Text:  "A customer was forgotten as asked: name, e-mail and phone are gone from all that the store keeps.",
						About: map[string]any{"customerId": customerID}})
				}
			}
			if err != nil {
				return err
			}
			_, err := o.exec(ctx, tx, "save", customerID, storeID, f.pass, f.positionAt, f.positionID, f.Events, f.Deliveries,
				f.ActivityEntries, f.Notes, f.IdempotencyKeys, f.FinishedAt)
			return err
		})
	}
	if errors.Is(err, errBusy) {
		select {
		case <-time.After(busyPause):
			return before, nil
		case <-ctx.Done():
			return before, ctx.Err()
		}
	}
	if err != nil {
		return before, fmt.Errorf("forget customer %s: %w", customerID, err)
	}
	return f, nil
}

// next begins the next pass.
func (f *Forgetting) next(pass string) {
	f.pass, f.positionAt, f.positionID = pass, time.UnixMilli(0).UTC(), uuid.Nil
}

// events takes the customer out of the next events, and out of what their receivers answered.
func (s on) events(ctx context.Context, tx *ent.Tx, f *Forgetting) error {
	var ids []uuid.UUID
	looked := 0
	for row := range db.Rows(ctx, tx, s.sql("next events", 0, 0), f.StoreID, f.positionAt, f.positionID, stepRows,
		[]byte(f.CustomerID.String()), []byte(resource.ForgottenEmail(f.CustomerID))) {
		var theirs bool
		if err := row.Scan(&f.positionID, &f.positionAt, &theirs); err != nil {
			return fmt.Errorf("read the events: %w", err)
		}
		if looked++; theirs {
			ids = append(ids, f.positionID)
		}
	}
	if looked < stepRows {
		defer f.next(activityPass)
	}
	if len(ids) == 0 {
		return nil
	}
	if err := queue.HoldRelay(ctx, tx, s.DB); err != nil {
		return err
	}
	if _, err := s.execIDs(ctx, tx, "drop outbox", ids, f.StoreID); err != nil {
		return err
	}
	for _, of := range []struct {
		find, clear string
		args        []any // of both, beside the store
	}{{"deliveries", "clear delivery", []any{s.TimeArg()}}, {"finished", "clear finished", nil}} {
		found, err := s.attempts(ctx, tx, of.find, ids, append([]any{f.StoreID}, of.args...)...)
		if err != nil {
			return err
		}
		for _, d := range found {
			if _, err := s.exec(ctx, tx, of.clear, append([]any{f.StoreID, d.id, d.attempts}, of.args...)...); err != nil {
				return err
			}
		}
		f.Deliveries += int64(len(found))
	}
	n, err := s.execIDs(ctx, tx, "clear events", ids, f.StoreID, []byte(hook.Forgotten))
	f.Events += n
	return err
}

// delivery is a delivery with its attempts, which no longer have what its receiver answered.
type delivery struct {
	id       uuid.UUID
	attempts []byte
}

// attempts reads deliveries, or returns errBusy while one is under way.
func (s on) attempts(ctx context.Context, tx *ent.Tx, name string, ids []uuid.UUID, args ...any) (found []delivery, err error) {
	underWay := false
	for row := range db.Rows(ctx, tx, s.sql(name, len(args), len(ids)), withIDs(args, ids)...) {
		var d delivery
		var leased bool
		if err := row.Scan(&d.id, &d.attempts, &leased); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		underWay = underWay || leased
		d.attempts = withoutAnswers(d.attempts)
		found = append(found, d)
	}
	if underWay {
		return nil, errBusy
	}
	return found, nil
}

// withoutAnswers replaces what a receiver answered; attempts that cannot be read go.
func withoutAnswers(column []byte) []byte {
	attempts, err := queue.Attempts(column)
	for i := range attempts {
		if attempts[i].Answer != "" {
			attempts[i].Answer = forgotten
		}
	}
	text, wrong := json.Marshal(attempts)
	if err != nil || wrong != nil || len(attempts) == 0 {
		return []byte("[]")
	}
	return text
}

// activity takes the customer's values out of the next entries of the journal, and the notes of the customer's orders.
func (s on) activity(ctx context.Context, tx *ent.Tx, f *Forgetting) error {
	entries := map[uuid.UUID][]byte{}
	looked := 0
	for row := range db.Rows(ctx, tx, s.sql("next activity", 0, 0), f.StoreID, f.positionAt, f.positionID, stepRows, f.CustomerID) {
		var resourceType string
		var changes []byte
		var theirs bool
		if err := row.Scan(&f.positionID, &f.positionAt, &resourceType, &changes, &theirs); err != nil {
			return fmt.Errorf("read the activity journal: %w", err)
		}
		looked++
		if cleared := withoutValues(resourceType, changes); theirs && !bytes.Equal(cleared, changes) {
			entries[f.positionID] = cleared
		}
	}
	for id, changes := range entries {
		if _, err := s.exec(ctx, tx, "clear activity", f.StoreID, id, changes); err != nil {
			return err
		}
	}
	f.ActivityEntries += int64(len(entries))
	if looked < stepRows {
		f.next(restPass)
	}
	return nil
}

// personal are the fields of an entry of the activity journal whose values name or describe a customer, by resource.
var personal = map[string][]string{"customer": {"name", "email", "phone"}, "order": {"note"}}

// withoutValues replaces the personal values of an entry; null and the empty text stay. Without any the entry stays as it is.
func withoutValues(resourceType string, changes []byte) []byte {
	var values map[string]map[string]any
	if len(personal[resourceType]) == 0 || json.Unmarshal(changes, &values) != nil {
		return changes
	}
	found := false
	for _, field := range personal[resourceType] {
		for side, value := range values[field] {
			if value != nil && value != "" && value != forgotten {
				values[field][side], found = forgotten, true
			}
		}
	}
	cleared, err := json.Marshal(values)
	if err != nil || !found {
		return changes
	}
	return cleared
}

// rest takes away the notes of the customer's orders, and the customer out of answers under idempotency keys.
func (s on) rest(ctx context.Context, tx *ent.Tx, f *Forgetting) error {
	notes, err := s.exec(ctx, tx, "clear notes", f.StoreID, f.CustomerID, stepRows)
	if err != nil {
		return err
	}
	email := resource.ForgottenEmail(f.CustomerID)
	answers := map[uuid.UUID][]byte{}
	for row := range db.Rows(ctx, tx, s.sql("answers", 0, 0), f.StoreID, []byte(f.CustomerID.String()), []byte(email), stepRows) {
		var id uuid.UUID
		var answer []byte
		if err := row.Scan(&id, &answer); err != nil {
			return fmt.Errorf("read the answers: %w", err)
		}
		order := &storefrontv1.Order{} // all operations with a remembered answer return one
		if err := proto.Unmarshal(answer, order); err != nil {
			return fmt.Errorf("read an answer: %w", err)
		}
		order.Note = nil
		order.Customer = &storefrontv1.Order_Customer{Id: f.CustomerID.String(), Email: &email}
		if answers[id], err = proto.Marshal(order); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
	for id, answer := range answers {
		if _, err := s.exec(ctx, tx, "clear answer", f.StoreID, id, answer); err != nil {
			return err
		}
	}
	f.Notes, f.IdempotencyKeys = f.Notes+notes, f.IdempotencyKeys+int64(len(answers))
	if notes < stepRows && len(answers) < stepRows {
		f.next(logPass)
	}
	return nil
}

// truncateLog empties SQLite's write-ahead log, which has the pages as they were; their deleted bytes are zeros in the file
// (secure_delete). It returns errBusy while a reader needs the log.
func (s on) truncateLog(ctx context.Context) error {
	statement := db.Of(s.DB, "", "PRAGMA wal_checkpoint(TRUNCATE)")
	if statement == "" {
		return nil
	}
	var busy, frames, moved int
	if err := s.Writer().QueryRowContext(ctx, statement).Scan(&busy, &frames, &moved); err != nil {
		return fmt.Errorf("empty the log: %w", err)
	}
	if busy != 0 {
		return errBusy
	}
	return nil
}
