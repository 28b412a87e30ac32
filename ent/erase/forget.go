// Package erase takes data away for good: what names a customer (Forget), and a whole store (Store).
//
//	BeginForgetting: the customer's row, in one transaction ──► forgettings: unfinished
//	   Step: events with their deliveries ──► activity ──► the rest ──► the log of SQLite ──► finished: the receipt
//	   │ killed: any process continues from the position         └ a reader keeps it: the receipt names the kind
//
//	stores.delete_at ──past──► Store: deletion_began_at ──► batch by batch, table by table ──► the store's row
//	   │ restored before: nothing       │ killed: any process begins again with what is left
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
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/outboxentry"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

//go:embed erase.sql
var file string

var statements = db.Statements(file)

const (
	// stepRows is how many rows one step looks at: its transaction then takes no longer than a request.
	stepRows = 200
	// busyPause is the wait for an attempt of a delivery that is under way.
	busyPause = 250 * time.Millisecond
	// forgotten is what the values of a customer become where there must be a value.
	forgotten = "forgotten"
	// shortestText is how many bytes what names a customer must have to be looked for in texts that a caller chose.
	shortestText = 3
)

// passes are what a forgetting goes through, one after the other. Each call does one step of one, and returns whether it was
// the last. Forgettings hold their number.
var passes = []func(on, context.Context, *ent.Tx, *Forgetting) (last bool, err error){on.events, on.activity, on.rest}

// ErrNone means that there is no such forgetting.
var ErrNone = errors.New("no such forgetting")

// Forgetting is the progress of forgetting a customer and, when it is finished, its receipt. It holds no
// personal data.
type Forgetting struct {
	// CustomerID is the customer who is forgotten.
	CustomerID, StoreID uuid.UUID
	// How many rows were changed.
	Events, Deliveries, ActivityEntries, Notes, IdempotencyKeys, RefusedRequests int64
	CreatedAt                                                                    time.Time
	// FinishedAt is nil while a row may name the customer.
	FinishedAt *time.Time
	// LogWaitsFor is the kind of reader (db.EmptyLog) that keeps old pages in SQLite's log after that, "" once they are gone.
	LogWaitsFor string `json:"-"`
	// Pass counts the passes that are done; the one under way has looked at the rows up to that of PositionAt and PositionID.
	Pass       int
	PositionAt time.Time
	PositionID uuid.UUID
}

// on is a database with the statements for it.
type on struct{ *db.DB }

// statement returns a statement with its arguments. A list of ids, as the last argument, stands for {ids}.
func (s on) statement(name string, args []any) (string, []any) {
	var list []string
	if ids, ok := args[len(args)-1].([]uuid.UUID); ok {
		args = slices.Clone(args[:len(args)-1])
		for _, id := range ids {
			args = append(args, id)
			list = append(list, "$"+strconv.Itoa(len(args)))
		}
	}
	return strings.NewReplacer("{ids}", strings.Join(list, ", "), "{lock}", s.RowLock("")).Replace(statements[name]), args
}

// exec runs a statement and returns how many rows it changed.
func (s on) exec(ctx context.Context, tx *ent.Tx, name string, args ...any) (int64, error) {
	query, args := s.statement(name, args)
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return result.RowsAffected()
}

// row is what a statement reads of a row: its id, its time, a text, and the answer to the statement's question.
type row struct {
	id   uuid.UUID
	at   time.Time
	text []byte
	yes  bool
}

// rewrite reads rows of the store that is the first argument, and stores what a function makes of the texts in a column. It
// returns the rows, and the ids of those whose texts changed.
func (s on) rewrite(ctx context.Context, tx *ent.Tx, column string, change func(row) ([]byte, error), args ...any) (rows []row,
	changed []uuid.UUID, err error) {
	query, args := s.statement(column, args)
	for read := range db.Rows(ctx, tx, query, args...) {
		var r row
		if err := read.Scan(&r.id, &r.at, &r.text, &r.yes); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", column, err)
		}
		rows = append(rows, r)
	}
	table, name, _ := strings.Cut(column, ".")
	update := "UPDATE " + table + " SET " + name + " = $3 WHERE store_id = $1 AND id = $2"
	for _, r := range rows {
		text, err := change(r)
		if err == nil && !bytes.Equal(text, r.text) {
			changed = append(changed, r.id)
			_, err = tx.ExecContext(ctx, update, args[0], r.id, text)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("rewrite %s: %w", column, err)
		}
	}
	return rows, changed, nil
}

// page rewrites the rows that follow the position, moves it to the last of them, and returns whether there are no more.
func (s on) page(ctx context.Context, tx *ent.Tx, f *Forgetting, column string, change func(row) ([]byte, error), also ...any) (
	changed []uuid.UUID, last bool, err error) {
	args := append([]any{f.StoreID, f.PositionAt, f.PositionID, stepRows}, also...)
	rows, changed, err := s.rewrite(ctx, tx, column, change, args...)
	if len(rows) > 0 {
		end := rows[len(rows)-1]
		f.PositionAt, f.PositionID = end.at, end.id
	}
	return changed, len(rows) < stepRows, err
}

// BeginForgetting replaces what names a customer in the customer's row, and so in all that shows the customer, and orders the
// steps that take it out of what is kept. A customer who is forgotten already stays as it is. The caller's context is in the
// store; a customer whom it lacks is ent's NotFoundError.
func BeginForgetting(ctx context.Context, s *db.DB, storeID, customerID uuid.UUID) (f Forgetting, err error) {
	o := on{s}
	err = hook.WithTx(ctx, s, func(ctx context.Context, tx *ent.Tx) error {
		// Orders whose next change sends an event: a transaction that changes one either has committed the event or reads the
		// forgotten customer.
		if _, err := db.Lock(s, tx.Order.Query().Where(order.StoreID(storeID), order.CustomerID(customerID),
			order.StatusIn(order.StatusPENDING, order.StatusFAILED)).Order(order.ByID())).IDs(ctx); err != nil {
			return fmt.Errorf("wait for orders: %w", err)
		}
		c, err := hook.LockRow(ctx, tx.Customer.Query().Where(customer.StoreID(storeID), customer.ID(customerID)))
		if err != nil {
			return err
		}
		email := resource.ForgottenEmail(c.ID)
		if c.Name == "" && c.Phone == nil && c.Email != nil && *c.Email == email {
			if f, err = o.read(ctx, tx, storeID, customerID); !errors.Is(err, ErrNone) {
				return err
			}
		}
		f = Forgetting{CustomerID: c.ID, StoreID: storeID, CreatedAt: hook.Time(ctx, c.ID)}
		for _, text := range []*string{&c.Name, c.Email, c.Phone} {
			if text == nil || len(*text) < shortestText {
				continue
			}
			for name, n := range map[string]*int64{"clear refused": &f.RefusedRequests, "drop keys": &f.IdempotencyKeys} {
				found, err := o.exec(ctx, tx, name, storeID, strings.ToLower(*text))
				if err != nil {
					return err
				}
				*n += found
			}
		}
		if err := tx.Customer.UpdateOne(c).SetName("").SetEmail(email).ClearPhone().
			SetSearch(resource.CustomerSearch("", &email, nil)).Exec(ctx); err != nil {
			return fmt.Errorf("forget the customer: %w", err)
		}
		hook.Record(ctx, "customer.forgotten", "customer", c.ID)
		// One who was forgotten before, and named again since, has a row.
		if _, err := tx.ExecContext(ctx, "INSERT INTO forgettings (id, store_id, progress) VALUES ($1, $2, '') ON CONFLICT DO NOTHING",
			c.ID, storeID); err != nil {
			return fmt.Errorf("begin to forget: %w", err)
		}
		return o.save(ctx, tx, f)
	}, hook.WithoutJournal) // it would keep the old values
	return f, err
}

// read reads a forgetting and locks it, or returns ErrNone.
func (s on) read(ctx context.Context, tx *ent.Tx, storeID, customerID uuid.UUID) (f Forgetting, err error) {
	err = ErrNone
	for row := range db.Rows(ctx, tx, "SELECT progress, COALESCE(log_waits_for, '') FROM forgettings WHERE id = $1 AND store_id = $2"+
		s.RowLock(""), customerID, storeID) {
		var progress []byte
		if err = row.Scan(&progress, &f.LogWaitsFor); err == nil {
			err = json.Unmarshal(progress, &f)
		}
	}
	return f, err
}

// save stores a forgetting.
func (s on) save(ctx context.Context, tx *ent.Tx, f Forgetting) error {
	progress, err := json.Marshal(f)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE forgettings SET progress = $1, finished_at = $2, log_waits_for = NULLIF($3, '')"+
			" WHERE id = $4 AND store_id = $5", progress, f.FinishedAt, f.LogWaitsFor, f.CustomerID, f.StoreID)
	}
	return err
}

// Unfinished lists forgettings with something left to do, with no more than their ids.
func Unfinished(ctx context.Context, s *db.DB) (found []Forgetting, err error) {
	const query = "SELECT id, store_id FROM forgettings WHERE finished_at IS NULL ORDER BY id LIMIT 10"
	for row := range db.Rows(ctx, s.Reader(), query) {
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

// Step does one step of a forgetting in a transaction, leaves the database to others for a moment, and does nothing when the
// forgetting is finished, unless it waits for SQLite's log: then it tries once more to empty that. While an event of the
// customer's is being delivered it waits and changes nothing, so that a delivery is made before the forgetting is finished, or
// never. It returns ErrNone when there is no such forgetting.
func Step(ctx context.Context, s *db.DB, storeID, customerID uuid.UUID) (f Forgetting, err error) {
	o, began := on{s}, time.Now()
	change := func(do func(ctx context.Context, tx *ent.Tx) error) error {
		return hook.WithTx(ctx, s, func(ctx context.Context, tx *ent.Tx) error {
			if f, err = o.read(ctx, tx, storeID, customerID); err != nil || f.FinishedAt != nil {
				return err
			}
			if err := do(ctx, tx); err != nil {
				return err
			}
			return o.save(ctx, tx, f)
		})
	}
	err = change(func(ctx context.Context, tx *ent.Tx) error {
		if f.Pass == len(passes) {
			return nil
		}
		last, err := passes[f.Pass](o, ctx, tx, &f)
		if last {
			f.Pass, f.PositionAt, f.PositionID = f.Pass+1, time.Time{}, uuid.Nil
		}
		return err
	})
	switch {
	case err != nil:
	case f.LogWaitsFor != "":
		if _, err = EmptyLog(ctx, s); err == nil {
			err = change(func(context.Context, *ent.Tx) error { return nil })
		}
	case f.FinishedAt == nil && f.Pass == len(passes):
		var reader string
		if reader, err = o.emptyLog(ctx); err == nil {
			err = change(func(ctx context.Context, tx *ent.Tx) error {
				f.FinishedAt, f.LogWaitsFor = new(s.Now()), reader
				_, err := notice.Write(ctx, tx, hook.Time(ctx), notice.Notice{Type: notice.CustomerForgotten, StoreID: storeID,
					Text:  "A customer was forgotten as asked: name, e-mail and phone are gone from all that the store keeps.",
					About: map[string]any{"customerId": customerID}})
				return err
			})
		}
	}
	switch {
	case errors.Is(err, errBusy):
		return f, wait(ctx, busyPause)
	case err != nil:
		return f, fmt.Errorf("forget customer %s: %w", customerID, err)
	case f.FinishedAt == nil:
		return f, rest(ctx, began)
	}
	return f, nil
}

// names reports whether a text shows the customer as it was before it was forgotten.
func (f *Forgetting) names(text []byte) bool {
	return bytes.Contains(text, []byte(f.CustomerID.String())) &&
		!bytes.Contains(text, []byte(resource.ForgottenEmail(f.CustomerID)))
}

// events takes the customer out of events, and out of what their receivers answered.
func (s on) events(ctx context.Context, tx *ent.Tx, f *Forgetting) (last bool, err error) {
	ids, last, err := s.page(ctx, tx, f, "events.payload", func(event row) ([]byte, error) {
		if f.names(event.text) {
			return []byte(hook.Forgotten), nil
		}
		return event.text, nil
	})
	if err != nil || len(ids) == 0 {
		return last, err
	}
	if err := queue.HoldRelay(ctx, tx, s.DB); err != nil {
		return false, err
	}
	// This waits for a relay that has locked an entry, and then leaves the deliveries that it made.
	if _, err := tx.OutboxEntry.Delete().Where(outboxentry.StoreID(f.StoreID), outboxentry.IDIn(ids...)).Exec(ctx); err != nil {
		return false, fmt.Errorf("empty the outbox: %w", err)
	}
	waiting, _, err := s.rewrite(ctx, tx, "deliveries.attempts", withoutAnswers, f.StoreID, s.TimeArg(), ids)
	if err != nil {
		return false, err
	}
	finished, _, err := s.rewrite(ctx, tx, "finished_deliveries.attempts", withoutAnswers, f.StoreID, ids)
	if err != nil {
		return false, err
	}
	f.Events, f.Deliveries = f.Events+int64(len(ids)), f.Deliveries+int64(len(waiting)+len(finished))
	_, err = s.exec(ctx, tx, "cancel", f.StoreID, s.TimeArg(), ids)
	return last, err
}

// withoutAnswers replaces what receivers answered to the attempts of a delivery; attempts that cannot be read go. It returns
// errBusy for one that is under way.
func withoutAnswers(delivery row) ([]byte, error) {
	if delivery.yes {
		return nil, errBusy
	}
	attempts, err := queue.Attempts(delivery.text)
	if err != nil {
		return []byte("[]"), nil //nolint:nilerr // They may have what a receiver answered.
	}
	for i := range attempts {
		if attempts[i].Answer != "" {
			attempts[i].Answer = forgotten
		}
	}
	return json.Marshal(attempts)
}

// activity takes the customer's values out of the journal.
func (s on) activity(ctx context.Context, tx *ent.Tx, f *Forgetting) (last bool, err error) {
	ids, last, err := s.page(ctx, tx, f, "activity_entries.changes", withoutValues, f.CustomerID)
	f.ActivityEntries += int64(len(ids))
	return last, err
}

// personal are the fields of a customer or an order that name or describe the customer.
var personal = []string{"name", "email", "phone", "note"}

// withoutValues replaces the personal values of an entry of the journal about the customer; null and the empty text stay.
// Without any the entry stays as it is.
func withoutValues(entry row) ([]byte, error) {
	if !entry.yes {
		return entry.text, nil
	}
	var values map[string]map[string]any
	if err := json.Unmarshal(entry.text, &values); err != nil {
		return nil, err
	}
	found := false
	for _, field := range personal {
		for side, value := range values[field] {
			if value != nil && value != "" && value != forgotten {
				values[field][side], found = forgotten, true
			}
		}
	}
	if !found {
		return entry.text, nil
	}
	return json.Marshal(values)
}

// rest takes away the notes of the customer's orders, and the customer out of answers under idempotency keys.
func (s on) rest(ctx context.Context, tx *ent.Tx, f *Forgetting) (last bool, err error) {
	notes, err := s.exec(ctx, tx, "clear notes", f.StoreID, f.CustomerID, stepRows)
	if err != nil {
		return false, err
	}
	ids, last, err := s.page(ctx, tx, f, "idempotency_keys.answer", f.withoutBuyer)
	f.Notes, f.IdempotencyKeys = f.Notes+notes, f.IdempotencyKeys+int64(len(ids))
	return last && notes < stepRows, err
}

// withoutBuyer replaces the customer in an answer; all operations with a remembered answer return an order.
func (f *Forgetting) withoutBuyer(answer row) ([]byte, error) {
	if !f.names(answer.text) {
		return answer.text, nil
	}
	order := &storefrontv1.Order{}
	if err := proto.Unmarshal(answer.text, order); err != nil {
		return nil, err
	}
	order.Note = nil
	order.Customer = &storefrontv1.Order_Customer{Id: f.CustomerID.String(), Email: new(resource.ForgottenEmail(f.CustomerID))}
	return proto.Marshal(order)
}
