// Package erase erases a customer's personal data (BeginForgetting, Step) and deletes whole stores (Store), both for good.
//
//	BeginForgetting: the customer's row and notes, in one transaction ──► forgettings: unfinished ◄─┐
//	   Step: activity ──► events with their deliveries ──► idempotency keys ──► SQLite's log ──┤ changed
//	   │ killed: any process continues from the position  a reader keeps it: the receipt says so │ meanwhile?
//	   │ failed: workers wait, longer each time                           finished: the receipt ◄┘
//
//	stores.delete_at ──past──► Store: deletion_began_at ──► batch by batch, table by table ──► the store's row
//	   │ restored before: nothing       │ killed: any process begins again with what is left
//
// Amounts, references and dates of an erased customer's orders stay. Rows written after BeginForgetting hold no personal
// data, because events, journal entries and answers are made from the emptied customer's row and orders. If somebody gives
// the customer a name or one of the orders a note before the end, Step begins again with the first table.
//
// All rows are found by the ids of the customer and of the customer's orders, and no text is searched. An event about the customer
// is replaced whole. A journal entry or a stored answer about the customer loses its personal fields.
package erase

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
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
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

//go:embed erase.sql
var eraseSQL string

var statements = db.Statements(eraseSQL)

const (
	// stepRows lets a step's transaction take about as long as that of a request.
	stepRows = 200
	// busyPause is Step's wait for a worker that is attempting a delivery about the customer.
	busyPause = 250 * time.Millisecond
	// forgotten replaces a personal value that must not be empty.
	forgotten = "forgotten"
	// stepNotes is how many notes one step removes from orders of any status. The step also removes those of all PENDING and
	// FAILED orders, whose next change sends an event.
	stepNotes = 2000
	// failurePause doubles with each failure, up to maxFailurePause.
	failurePause, maxFailurePause = 10 * time.Second, time.Hour
)

// phases are in order, and Forgetting.Pass is the index of the current one. One call is one step; last is true if the phase is
// done.
var phases = []func(eraser, *hook.Change, *Forgetting) (last bool, err error){
	eraser.customer, eraser.activity, eraser.assign, eraser.events, eraser.keys,
}

// ErrNoForgetting means that there is no erasure of this customer.
var ErrNoForgetting = errors.New("no such forgetting")

// Forgetting is a running erasure with its progress, or the receipt of a finished one, which has no personal data.
type Forgetting struct {
	// CustomerID is the customer whose data is erased.
	CustomerID, StoreID uuid.UUID
	// The numbers of rows that the erasure changed, by table.
	Events, Deliveries, ActivityEntries, Notes, IdempotencyKeys int64
	CreatedAt                                                   time.Time
	// FinishedAt is nil until then; a row may still name the customer.
	FinishedAt *time.Time
	// LogWaitsFor is the kind of reader (db.EmptyLog) that keeps old pages in SQLite's log; "" once the log has none.
	LogWaitsFor string `json:"-"`
	// Pass is the current phase, which has read the rows up to PositionAt and PositionID.
	Pass       int
	PositionAt time.Time
	PositionID uuid.UUID
	// RowAt is the customer's updated_at from when the row was emptied. A later one means that somebody has changed the row.
	RowAt time.Time
	// restartRequested is true if RestartForgettings was called since the first phase began.
	restartRequested bool
	// Before is the receipt of the previous erasure, which is kept if this one finds nothing to erase.
	Before *Forgetting `json:",omitzero"`
}

// eraser's methods are the phases and their steps.
type eraser struct{ *db.DB }

func exec(c *hook.Change, statement string, args ...any) (int64, error) {
	result, err := c.Tx.ExecContext(c, statement, args...)
	if err != nil {
		return 0, fmt.Errorf("forget what names the customer: %w", err)
	}
	return result.RowsAffected()
}

// row has an id, a time, a text, and a bool whose meaning depends on the statement.
type row struct {
	id   uuid.UUID
	at   time.Time
	text []byte
	flag bool
}

// read runs a query whose columns are the fields of row. name says in an error which rows they are.
func read(c *hook.Change, name, query string, args ...any) (rows []row, err error) {
	for read := range db.Rows(c, c.Tx, query, args...) {
		var r row
		if err := read.Scan(&r.id, &r.at, &r.text, &r.flag); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// page reads at most stepRows rows after the position of f by the statement of erase.sql with this name, and moves the
// position. last is true if fewer rows were left.
func (e eraser) page(c *hook.Change, f *Forgetting, name string, args ...any) (rows []row, last bool, err error) {
	rows, err = read(c, name, statements[name], append([]any{f.StoreID, f.PositionAt, f.PositionID, stepRows}, args...)...)
	if len(rows) > 0 {
		end := rows[len(rows)-1]
		f.PositionAt, f.PositionID = end.at, end.id
	}
	return rows, len(rows) < stepRows, err
}

// rewrite replaces the text of a column, such as events.payload, by the result of change. It returns the ids of the rows whose
// text changed.
func (e eraser) rewrite(c *hook.Change, f *Forgetting, column string, rows []row,
	change func(row) ([]byte, error)) (changed []uuid.UUID, err error) {
	table, name, _ := strings.Cut(column, ".")
	args, values := db.Args{f.StoreID}, []string(nil)
	pair := db.ByDialect(e.DB, "(CAST(%s AS uuid), CAST(%s AS bytea))", "(%s, %s)")
	for _, r := range rows {
		text, err := change(r)
		if err != nil {
			return nil, fmt.Errorf("rewrite %s: %w", column, err)
		}
		if !bytes.Equal(text, r.text) {
			changed = append(changed, r.id)
			values = append(values, fmt.Sprintf(pair, args.Add(r.id), args.Add(text)))
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	_, err = c.Tx.ExecContext(c, "UPDATE "+table+" SET "+name+" = v.column2 FROM (VALUES "+strings.Join(values, ", ")+
		") AS v WHERE store_id = $1 AND "+table+".id = v.column1", args...)
	if err != nil {
		return nil, fmt.Errorf("rewrite %s: %w", column, err)
	}
	return changed, nil
}

// BeginForgetting replaces the personal data in the customer's row, and removes the orders' notes; Step erases the rest. For a
// customer who was erased before, it starts a new erasure. The context must have the store. It fails with ent's NotFoundError.
func BeginForgetting(ctx context.Context, d *db.DB, storeID, customerID uuid.UUID) (f Forgetting, err error) {
	e := eraser{d}
	err = hook.Run(ctx, d, func(c *hook.Change) error {
		now := d.Now()
		if _, err := c.Tx.ExecContext(c, `INSERT INTO forgettings (id, store_id, progress, begun_at, due_at)
 VALUES ($1, $2, $3, $4, $4) ON CONFLICT DO NOTHING`, customerID, storeID, []byte("{}"), now); err != nil {
			return fmt.Errorf("begin to forget: %w", err)
		}
		if f, err = e.load(c, storeID, customerID); err != nil {
			return err
		}
		if f.FinishedAt != nil {
			f = Forgetting{Before: new(f)}
		}
		if f.CustomerID == uuid.Nil {
			f.CustomerID, f.StoreID, f.CreatedAt = customerID, storeID, now
		}
		f.begin()
		if err := e.step(c, &f); err != nil {
			return err
		}
		return e.save(c, f)
	}, hook.WithoutJournal) // because a journal entry would keep the old values
	return f, err
}

func (f *Forgetting) begin() { f.Pass, f.PositionAt, f.PositionID = 0, time.Time{}, uuid.Nil }

// RestartForgettings makes a store's unfinished erasures begin again. Call it in a transaction that adds rows with old times,
// past which they may have read.
func RestartForgettings(c *hook.Change, storeID uuid.UUID) error {
	_, err := c.Tx.ExecContext(c, "UPDATE forgettings SET begun_at = NULL WHERE store_id = $1 AND finished_at IS NULL", storeID)
	if err != nil {
		return fmt.Errorf("begin to forget again: %w", err)
	}
	return nil
}

func (e eraser) step(c *hook.Change, f *Forgetting) error {
	last, err := phases[f.Pass](e, c, f)
	if last {
		f.Pass, f.PositionAt, f.PositionID = f.Pass+1, time.Time{}, uuid.Nil
	}
	return err
}

// load locks an erasure, or fails with ErrNoForgetting.
func (e eraser) load(c *hook.Change, storeID, customerID uuid.UUID) (f Forgetting, err error) {
	err = ErrNoForgetting
	for row := range db.Rows(c, c.Tx, "SELECT progress, COALESCE(log_waits_for, ''), begun_at IS NULL FROM forgettings"+
		" WHERE id = $1 AND store_id = $2"+e.RowLock(""), customerID, storeID) {
		var progress []byte
		if err = row.Scan(&progress, &f.LogWaitsFor, &f.restartRequested); err == nil {
			err = json.Unmarshal(progress, &f)
		}
	}
	return f, err
}

// save stores an erasure after a successful step. Workers continue first with the one that was saved longest ago.
func (e eraser) save(c *hook.Change, f Forgetting) error {
	progress, err := json.Marshal(f)
	if err == nil {
		_, err = c.Tx.ExecContext(c, `UPDATE forgettings SET progress = $1, finished_at = $2, log_waits_for = NULLIF($3, ''), due_at = $4,
 failures = 0 WHERE id = $5 AND store_id = $6`, progress, f.FinishedAt, f.LogWaitsFor, e.Now(), f.CustomerID, f.StoreID)
	}
	return err
}

// Unfinished returns at most ten unfinished erasures, with only their ids, the longest waiting first, without those that
// Postpone has delayed.
func Unfinished(ctx context.Context, d *db.DB) ([]Forgetting, error) {
	return list(ctx, d, "(due_at IS NULL OR due_at <= $1) ORDER BY due_at NULLS FIRST, id LIMIT 10", d.Now())
}

// UnfinishedOf returns the unfinished erasures of a store's customers, with only their ids.
func UnfinishedOf(ctx context.Context, d *db.DB, storeID uuid.UUID) ([]Forgetting, error) {
	return list(ctx, d, "store_id = $1 ORDER BY id", storeID)
}

func list(ctx context.Context, d *db.DB, condition string, args ...any) (found []Forgetting, err error) {
	for row := range db.Rows(ctx, d.Reader(), "SELECT id, store_id FROM forgettings WHERE finished_at IS NULL AND "+condition, args...) {
		var f Forgetting
		if err := row.Scan(&f.CustomerID, &f.StoreID); err != nil {
			return nil, fmt.Errorf("list forgettings: %w", err)
		}
		found = append(found, f)
	}
	return found, nil
}

// maxWaits is how many steps in a row may wait for a running delivery.
const maxWaits = 4

// Continue does steps until the erasure is finished, or maxWaits steps in a row have found a running delivery.
func Continue(ctx context.Context, d *db.DB, f Forgetting) error {
	for waits := 0; f.FinishedAt == nil && waits < maxWaits; {
		next, err := Step(ctx, d, f.StoreID, f.CustomerID)
		if err != nil {
			return err
		}
		if waits++; next.Pass != f.Pass || next.PositionID != f.PositionID {
			waits = 0
		}
		f = next
	}
	return nil
}

// Postpone delays an erasure after a failed step, so that others continue first: ten seconds, doubling up to an hour.
func Postpone(ctx context.Context, d *db.DB, f Forgetting) error {
	err := hook.Run(ctx, d, func(c *hook.Change) error {
		failures := 0
		for row := range db.Rows(c, c.Tx, "SELECT failures FROM forgettings WHERE id = $1 AND store_id = $2"+d.RowLock(""),
			f.CustomerID, f.StoreID) {
			if err := row.Scan(&failures); err != nil {
				return err
			}
		}
		pause := min(failurePause<<min(failures, 9), maxFailurePause)
		_, err := c.Tx.ExecContext(c, "UPDATE forgettings SET failures = $1, due_at = $2 WHERE id = $3 AND store_id = $4", failures+1,
			d.Now().Add(pause), f.CustomerID, f.StoreID)
		return err
	})
	if err != nil {
		return fmt.Errorf("postpone the forgetting of customer %s: %w", f.CustomerID, err)
	}
	return nil
}

// errBusy means that a worker is delivering an event about the customer. The step changes nothing, and must be repeated.
var errBusy = errors.New("busy")

// Step does one step in a transaction, and then pauses in favour of other writers. While a worker delivers an event about the
// customer, it changes nothing. If only SQLite's log still has old pages, it tries once to empty the log. It fails with
// ErrNoForgetting.
func Step(ctx context.Context, d *db.DB, storeID, customerID uuid.UUID) (f Forgetting, err error) {
	e, began := eraser{d}, time.Now()
	change := func(fn func(c *hook.Change) error) error {
		return hook.Run(ctx, d, func(c *hook.Change) error {
			if f, err = e.load(c, storeID, customerID); err != nil || f.FinishedAt != nil {
				return err
			}
			if err := fn(c); err != nil {
				return err
			}
			return e.save(c, f)
		}, hook.WithoutJournal)
	}
	err = change(func(c *hook.Change) error {
		if f.Pass == len(phases) {
			return nil
		}
		return e.step(c, &f)
	})
	switch {
	case err != nil:
	case f.LogWaitsFor != "":
		if _, err = EmptyLog(ctx, d); err == nil {
			err = change(func(*hook.Change) error { return nil })
		}
	case f.FinishedAt == nil && f.Pass == len(phases):
		var reader string
		if reader, err = e.emptyLog(ctx); err == nil {
			err = change(func(c *hook.Change) error { return e.finish(c, &f, reader) })
		}
	}
	switch {
	case errors.Is(err, errBusy):
		return f, wait(ctx, busyPause)
	case err != nil:
		return f, fmt.Errorf("forget customer %s: %w", customerID, err)
	case f.FinishedAt == nil:
		return f, pauseAfter(ctx, began)
	}
	return f, nil
}

// finish begins f again if the customer's row has changed since it was emptied, an order has a note again, or an import has
// added rows. Otherwise it makes the receipt, or keeps an earlier one if f has erased nothing. reader is what keeps SQLite's
// log from being emptied, or "".
func (e eraser) finish(c *hook.Change, f *Forgetting, reader string) error {
	person, err := hook.LockRow(c, c.Tx.Customer.Query().Where(customer.StoreID(f.StoreID), customer.ID(f.CustomerID)))
	if err != nil {
		return err
	}
	noted, err := c.Tx.Order.Query().Where(order.StoreID(f.StoreID), order.CustomerID(f.CustomerID), order.NoteNotNil()).Exist(c)
	switch {
	case err != nil:
		return fmt.Errorf("look for notes: %w", err)
	case noted || f.restartRequested || !person.UpdatedAt.Equal(f.RowAt):
		f.begin()
		return nil
	case f.Before != nil && f.Events+f.Deliveries+f.ActivityEntries+f.Notes+f.IdempotencyKeys == 0:
		*f = *f.Before
		f.LogWaitsFor = reader
		return nil
	}
	f.FinishedAt, f.LogWaitsFor, f.Before = new(e.Now()), reader, nil
	return notice.Write(c, e.DB, c.Tx, c.Time(), notice.Notice{Type: notice.CustomerForgotten, StoreID: f.StoreID,
		Data: map[string]any{"customerId": f.CustomerID}})
}

// customer erases the personal data in the customer's row, and the orders' notes.
func (e eraser) customer(c *hook.Change, f *Forgetting) (last bool, err error) {
	// Lock the orders that have a note or may still send an event. A transaction that changes one has committed its event
	// before, or waits and then reads the erased customer.
	if _, err := hook.LockIDs(c, c.Tx.Order.Query().Where(order.StoreID(f.StoreID), order.CustomerID(f.CustomerID),
		order.Or(order.StatusIn(order.StatusPENDING, order.StatusFAILED), order.NoteNotNil())).Order(order.ByID())); err != nil {
		return false, fmt.Errorf("wait for orders: %w", err)
	}
	person, err := hook.LockRow(c, c.Tx.Customer.Query().Where(customer.StoreID(f.StoreID), customer.ID(f.CustomerID)))
	if err != nil {
		return false, err
	}
	email := resource.ForgottenEmail(person.ID)
	taken, err := hook.LockRows(c, c.Tx.Customer.Query().Where(customer.StoreID(f.StoreID), customer.Email(email), customer.IDNEQ(person.ID)))
	if err != nil {
		return false, fmt.Errorf("look for the customer's new e-mail: %w", err)
	}
	notes, err := exec(c, statements["clear notes"], f.StoreID, f.CustomerID, stepNotes)
	if err != nil {
		return false, err
	}
	f.Notes += notes
	named, first := !resource.IsForgotten(person), f.PositionID == uuid.Nil
	if named || first && (notes > 0 || f.Before == nil) {
		c.Record("customer.forgotten", "customer", person.ID)
		f.Before = nil // this erasure has erased something, so the old receipt is not needed
	}
	if _, err := c.Tx.ExecContext(c, "UPDATE forgettings SET begun_at = $1 WHERE id = $2 AND store_id = $3", c.Time(), person.ID,
		f.StoreID); err != nil {
		return false, fmt.Errorf("begin to forget: %w", err)
	}
	if err := freeEmail(c, taken); err != nil {
		return false, err
	}
	if person, err = c.Tx.Customer.UpdateOne(person).SetName("").SetEmail(email).ClearPhone().
		SetSearch(resource.CustomerSearch("", &email, nil)).Save(c); err != nil {
		return false, fmt.Errorf("forget the customer: %w", err)
	}
	f.RowAt, f.PositionID = person.UpdatedAt, person.ID
	return notes < stepNotes, nil
}

// freeEmail gives customers with the address of a forgotten one, which an earlier release let them take, another that reaches
// nobody.
func freeEmail(c *hook.Change, taken []*ent.Customer) error {
	for _, person := range taken {
		email := uuid.NewString() + "@taken." + resource.ForgottenDomain
		if err := c.Tx.Customer.UpdateOne(person).SetEmail(email).SetSearch(resource.CustomerSearch(person.Name, &email, person.Phone)).Exec(c); err != nil {
			return fmt.Errorf("free the customer's new e-mail: %w", err)
		}
	}
	return nil
}

// assign sets the customer of events that an earlier release has written without one. Those that name no customer get the nil
// id, so that they are read once.
func (e eraser) assign(c *hook.Change, f *Forgetting) (last bool, err error) {
	rows, last, err := e.page(c, f, "events without a customer")
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		var payload struct {
			Type string
			Data struct {
				ID       uuid.UUID
				Customer struct{ ID uuid.UUID }
			}
		}
		_ = json.Unmarshal(r.text, &payload) // an error leaves the ids that cannot be read nil
		id := payload.Data.Customer.ID
		if id == uuid.Nil && !strings.HasPrefix(payload.Type, "product.") {
			id = payload.Data.ID
		}
		if _, err := exec(c, "UPDATE events SET customer_id = $3 WHERE store_id = $1 AND id = $2", f.StoreID, r.id, id); err != nil {
			return false, err
		}
	}
	return last, nil
}

// events erases the payloads of events about the customer, and the receivers' answers, also to events that were erased earlier,
// because an import may have added some.
func (e eraser) events(c *hook.Change, f *Forgetting) (last bool, err error) {
	rows, last, err := e.page(c, f, "events.payload", f.CustomerID)
	if err != nil {
		return false, err
	}
	var alreadyErased []uuid.UUID
	ids, err := e.rewrite(c, f, "events.payload", rows, func(event row) ([]byte, error) {
		read, err := hook.ReadEnvelope(event.text)
		switch {
		case string(event.text) == hook.Forgotten:
			alreadyErased = append(alreadyErased, event.id)
		case err != nil, f.shownBy(read.Data):
			return []byte(hook.Forgotten), nil //nolint:nilerr // an event that cannot be read is replaced whole
		}
		return event.text, nil
	})
	if err != nil || len(ids)+len(alreadyErased) == 0 {
		return last, err
	}
	_, changed, err := e.answers(c, f, alreadyErased)
	f.Deliveries += changed
	if err != nil || len(ids) == 0 {
		return last, err
	}
	deliveries, _, err := e.answers(c, f, ids)
	if err != nil {
		return false, err
	}
	f.Events, f.Deliveries = f.Events+int64(len(ids)), f.Deliveries+deliveries
	// All leases have expired, because e.answers fails otherwise; but an attempt may still run, and its result must not be
	// stored. A worker that claims one of these due deliveries cancels it, because its event is erased.
	args := db.Args{f.StoreID, e.TimeArg()}
	_, err = exec(c, "UPDATE deliveries SET lease = NULL, leased_until = NULL, due_at = COALESCE(CAST($2 AS timestamptz), CURRENT_TIMESTAMP)"+
		" WHERE store_id = $1 AND event_id IN ("+args.AddIDs(ids)+")", args...)
	return last, err
}

// answers erases the receivers' answers to the events. all counts the deliveries, and changed those with an answer. It returns
// errBusy while one is being attempted.
func (e eraser) answers(c *hook.Change, f *Forgetting, events []uuid.UUID) (all, changed int64, err error) {
	if len(events) == 0 {
		return 0, 0, nil
	}
	args := db.Args{f.StoreID}
	condition := " WHERE store_id = $1 AND event_id IN (" + args.AddIDs(events) + ") ORDER BY id"
	now := slices.Clone(args)
	// The last column is true if an attempt of the delivery is running.
	live := "SELECT id, created_at, attempts, COALESCE(leased_until > COALESCE(CAST(" + now.Add(e.TimeArg()) +
		" AS timestamptz), CURRENT_TIMESTAMP), false) FROM deliveries" + condition + e.RowLock("")
	for _, q := range []struct {
		table, query string
		args         []any
	}{
		{"deliveries", live, now},
		{"finished_deliveries", "SELECT id, created_at, attempts, false FROM finished_deliveries" + condition, args},
	} {
		rows, err := read(c, q.table, q.query, q.args...)
		if err != nil {
			return 0, 0, err
		}
		ids, err := e.rewrite(c, f, q.table+".attempts", rows, withoutAnswers)
		if err != nil {
			return 0, 0, err
		}
		all, changed = all+int64(len(rows)), changed+int64(len(ids))
	}
	return all, changed, nil
}

// withoutAnswers returns no attempts if it cannot read them, and errBusy if one is running.
func withoutAnswers(delivery row) ([]byte, error) {
	if delivery.flag {
		return nil, errBusy
	}
	attempts, err := queue.Attempts(delivery.text)
	if err != nil {
		return []byte("[]"), nil //nolint:nilerr // Drop attempts that cannot be read, because they may contain a receiver's answer.
	}
	answered := false
	for i := range attempts {
		if attempts[i].Answer != "" && attempts[i].Answer != forgotten {
			attempts[i].Answer, answered = forgotten, true
		}
	}
	if !answered {
		return delivery.text, nil
	}
	return json.Marshal(attempts)
}

// activity erases the customer's values from journal entries about the customer and the orders.
func (e eraser) activity(c *hook.Change, f *Forgetting) (last bool, err error) {
	rows, last, err := e.page(c, f, "activity_entries.changes", f.CustomerID)
	if err != nil {
		return false, err
	}
	ids, err := e.rewrite(c, f, "activity_entries.changes", rows, withoutValues)
	f.ActivityEntries += int64(len(ids))
	return last, err
}

// personal are the journaled fields of a customer or an order that name or describe the customer.
var personal = []string{"name", "email", "phone", "note"}

// withoutValues keeps nulls and empty texts. It returns no changes if it cannot read them.
func withoutValues(entry row) ([]byte, error) {
	var changes map[string]map[string]any
	number := json.NewDecoder(bytes.NewReader(entry.text))
	number.UseNumber()
	if number.Decode(&changes) != nil || !jsontext.Value(entry.text).IsValid() { // IsValid rejects repeated names
		return []byte("{}"), nil //nolint:nilerr // an entry that cannot be read is replaced whole
	}
	found := false
	for field, sides := range changes {
		for side, value := range sides {
			if !hook.Journaled("customer", field) && !hook.Journaled("order", field) || side != "from" && side != "to" {
				return []byte("{}"), nil
			}
			text, isText := value.(string)
			switch _, isNumber := value.(json.Number); {
			case value == nil, text == "" && isText, text == forgotten, !slices.Contains(personal, field) && (isText || isNumber):
				continue
			}
			sides[side], found = forgotten, true
		}
	}
	if !found {
		return entry.text, nil
	}
	return json.Marshal(changes)
}

// keys erases the customer's data in stored answers, and the hashes of the requests. A repeated request then gets the answer
// without the data. It deletes a key whose answer cannot be read.
func (e eraser) keys(c *hook.Change, f *Forgetting) (last bool, err error) {
	rows, last, err := e.page(c, f, "idempotency_keys.answer", f.CustomerID)
	if err != nil {
		return false, err
	}
	var drop, all []uuid.UUID
	ids, err := e.rewrite(c, f, "idempotency_keys.answer", rows, func(key row) ([]byte, error) {
		all = append(all, key.id)
		// Only operations that return an order store their answers.
		order := &storefrontv1.Order{}
		switch err := (proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(key.text, order)); {
		case err != nil:
			drop = append(drop, key.id)
		case f.shownBy(order):
			order.Note = nil
			order.Customer = &storefrontv1.Order_Customer{Id: f.CustomerID.String(), Email: new(resource.ForgottenEmail(f.CustomerID))}
			return proto.Marshal(order)
		}
		return key.text, nil
	})
	if err != nil {
		return false, err
	}
	f.IdempotencyKeys += int64(len(ids) + len(drop))
	if err := changeAll(c, "UPDATE idempotency_keys SET request = $2", db.Args{f.StoreID, []byte{}}, all); err != nil {
		return false, err
	}
	return last, changeAll(c, "DELETE FROM idempotency_keys", db.Args{f.StoreID}, drop)
}

// shownBy reports whether message, a *Customer or an *Order with its buyer, shows a name, a phone, a note, or an e-mail other
// than the one that replaces an erased address.
func (f *Forgetting) shownBy(message any) bool {
	var c interface {
		GetName() string
		GetEmail() string
		GetPhone() string
	}
	note := ""
	switch m := message.(type) {
	case *storefrontv1.Customer:
		c = m
	case *storefrontv1.Order:
		c, note = m.GetCustomer(), m.GetNote()
	default:
		return true
	}
	email := c.GetEmail()
	return c.GetName() != "" || c.GetPhone() != "" || note != "" || email != "" && email != resource.ForgottenEmail(f.CustomerID)
}

// changeAll runs an UPDATE or DELETE without a WHERE for these ids of the store in args[0].
func changeAll(c *hook.Change, statement string, args db.Args, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := exec(c, statement+" WHERE store_id = $1 AND id IN ("+args.AddIDs(ids)+")", args...)
	return err
}
