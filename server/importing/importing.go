// Package importing brings existing data into a store: products, customers and orders of other shops, of files of
// one's own, and objects of the API. Load reads a file twice; an Importer checks and stores its batches.
//
//	file ─► lines ─► records ─► messages of the API ─► batches ─► Importer, in this process or on a server
//	           └─ columns: --from, --map   └─ ids from the store and one's own ids
//	first pass: every batch is checked, nothing is stored; second pass: every batch is stored
//	batch ─► read: rules of each row ─► plan: what the store has ─► store: rows, one journal entry
//
// Ids, dates, statuses, references and counters are kept. One's own ids become UUIDs of version 5 (RFC 9562, 5.5)
// of the store, the kind, the source and the own id, so that the same row is the same object whenever it is imported.
// A row whose id the store has is left unchanged, or is changed like by a PATCH if asked, so that importing a file
// again stores nothing twice, and continues an import that died. No events are sent unless asked.
package importing

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"entgo.io/ent/dialect"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// BatchRows is how many rows a batch has at most.
const BatchRows = 500

// Importer loads existing data into stores. Goroutines may share it.
type Importer struct{ db *db.DB }

// New returns an importer into the stores of a database.
func New(s *db.DB) *Importer { return &Importer{s} }

// Products imports a batch of products. It refuses with validation_failed.
func (m *Importer) Products(ctx context.Context, in *adminv1.ImportProductsRequest) (*adminv1.ImportResponse, error) {
	return load(ctx, m, "products", in.GetProducts(), in.GetOptions(), func(b batch) loader {
		l := &products{batch: b, given: map[int]*storefrontv1.Product{}}
		for i, p := range in.GetProducts() {
			l.read(i, p)
		}
		return l
	})
}

// Customers imports a batch of customers. It refuses with validation_failed.
func (m *Importer) Customers(ctx context.Context, in *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error) {
	return load(ctx, m, "customers", in.GetCustomers(), in.GetOptions(), func(b batch) loader {
		l := &customers{batch: b}
		for i, c := range in.GetCustomers() {
			l.read(i, c)
		}
		return l
	})
}

// Orders imports a batch of orders. It refuses with validation_failed.
func (m *Importer) Orders(ctx context.Context, in *adminv1.ImportOrdersRequest) (*adminv1.ImportResponse, error) {
	return load(ctx, m, "orders", in.GetOrders(), in.GetOptions(), func(b batch) loader {
		l := &orders{batch: b}
		for i, o := range in.GetOrders() {
			l.read(i, o)
		}
		return l
	})
}

// loader is a batch whose rows have been read. A transaction that is repeated runs both steps again.
type loader interface {
	// plan locks the rows that the batch changes, refuses rows that conflict with the store's, changes those
	// that are to be updated, and returns how many rows are new and how many were changed.
	plan(ctx context.Context, tx *ent.Tx, s *ent.Store) (fresh, changed int, err error)
	// store stores the new rows, and the counters that follow from new and changed ones.
	store(ctx context.Context, tx *ent.Tx) error
	refusals() *refusedRows
}

// batch has the fields of all kinds of batch.
type batch struct {
	db      *db.DB
	t       tenant.Store
	options *adminv1.ImportOptions
	refusedRows
}

// errNothing ends a transaction that stores nothing.
var errNothing = errors.New("nothing to store")

func load[M any](ctx context.Context, m *Importer, kind string, messages []M, options *adminv1.ImportOptions,
	read func(batch) loader) (*adminv1.ImportResponse, error) {
	t, _, ok := tenant.From(ctx)
	if !ok {
		return nil, errors.New("the context names no store")
	}
	if n := len(messages); n == 0 || n > BatchRows {
		return nil, apierr.Invalid("The batch is empty or too large.", apijson.Field{Name: kind,
			Message: fmt.Sprintf("must hold 1 to %d rows", BatchRows)})
	}
	l := read(batch{db: m.db, t: t, options: options})
	invalid := len(l.refusals().rows)
	fresh, changed := 0, 0
	err := m.db.Change(ctx, func(ctx context.Context, tx *ent.Tx) error {
		if !options.GetEvents() {
			hook.WithoutEvents(ctx)
		}
		l.refusals().rows = l.refusals().rows[:invalid]
		if err := m.settle(ctx, tx, dialect.Postgres, lookingUp); err != nil {
			return err
		}
		// The journal entry is about the store. Its row is locked first, so that imports into it run one
		// after the other.
		s, err := db.LockRow(ctx, m.db, tx.Store.Query().Where(store.ID(t.ID)))
		if err != nil {
			return fmt.Errorf("read store: %w", err)
		}
		if fresh, changed, err = l.plan(ctx, tx, s); err != nil {
			return err
		}
		if fresh+changed == 0 || options.GetDryRun() || len(l.refusals().rows) > 0 {
			return errNothing
		}
		if err := errors.Join(m.settle(ctx, tx, dialect.Postgres, storing), m.settle(ctx, tx, dialect.SQLite, manyPages)); err != nil {
			return err
		}
		hook.WithoutJournal(ctx) // of the rows; the batch has one entry
		if err := l.store(ctx, tx); err != nil || fresh == 0 {
			return err
		}
		if err := s.Update().SetUpdatedAt(hook.Time(ctx, s.ID)).Exec(ctx); err != nil {
			return fmt.Errorf("update store: %w", err)
		}
		hook.Record(ctx, "store.imported", "store", t.ID, hook.Change{Field: kind, To: int64(fresh)})
		return nil
	})
	if m.db.Dialect() == dialect.SQLite {
		_, _ = m.db.Writer().ExecContext(context.WithoutCancel(ctx), usualPages) // a matter of speed alone
		m.db.CheckpointBeside()
	}
	if err != nil && !errors.Is(err, errNothing) {
		return nil, err
	}
	out := &adminv1.ImportResponse{Refused: l.refusals().rows}
	if len(out.Refused) == 0 {
		out.Stored, out.Changed, out.Skipped = int32(fresh), int32(changed),
			int32(len(messages)-fresh-changed) //nolint:gosec // At most BatchRows.
	}
	return out, nil
}

// Settings of a batch's transaction.
const (
	// lookingUp plans each look-up again: a plan that was cached while a table was small would read all of
	// it for each batch. An index has everything that a batch looks up.
	lookingUp = "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = off"
	// storing caches plans again: otherwise the check of a foreign key would be planned for each row.
	storing = "SET LOCAL plan_cache_mode = auto"
	// manyPages lets the log of SQLite grow to 96 MB before a commit copies its pages to the file. A batch
	// writes to pages all over the indexes, so that by default each commit would copy thousands of them,
	// which the next batch writes again. Most are copied beside the batches. usualPages is SQLite's default.
	manyPages  = "PRAGMA wal_autocheckpoint = 24000"
	usualPages = "PRAGMA wal_autocheckpoint = 1000"
)

// settle applies a setting of one of the databases.
func (m *Importer) settle(ctx context.Context, tx *ent.Tx, database, setting string) error {
	if m.db.Dialect() != database {
		return nil
	}
	if _, err := tx.ExecContext(ctx, setting); err != nil {
		return fmt.Errorf("settle how a batch is stored: %w", err)
	}
	return nil
}

// refusedRows gathers the refused fields of a batch.
type refusedRows struct{ rows []*adminv1.RefusedRow }

func (r *refusedRows) refusals() *refusedRows { return r }

// refuse refuses a field of a row.
func (r *refusedRows) refuse(index int, field, message string) {
	r.rows = append(r.rows, &adminv1.RefusedRow{Index: int32(index), Field: field,
		Message: message}) //nolint:gosec // Below BatchRows.
}

// refusals are the refusals of the rules, as a complaint of a row's field.
var refusals = map[apierr.Code]apijson.Field{
	apierr.CompareAtInvalid:           {Name: "compareAtAmount", Message: "must be above priceAmount, or null"},
	apierr.ProductTypeUnavailable:     {Name: "status", Message: "cannot be PUBLISHED: the store cannot publish products of this type"},
	apierr.ProductIncomplete:          {Name: "status", Message: "cannot be PUBLISHED: the product lacks "},
	apierr.CustomerConflict:           {Name: "email", Message: "or the phone is another customer's"},
	apierr.CustomerIdentifierRequired: {Name: "email", Message: "is required, or a phone"},
}

// refused refuses a row with a refusal of the rules; any other error it returns.
func (r *refusedRows) refused(index int, err error) error {
	refusal, ok := errors.AsType[*apierr.Refusal](err)
	if !ok {
		return err
	}
	of, known := refusals[refusal.Code]
	if !known {
		of.Message = refusal.Message
	}
	r.refuse(index, of.Name, of.Message+strings.Join(refusal.Details.GetMissing(), " and "))
	return nil
}

// add refuses all that is wrong with a row, and reports whether the row is sound.
func (r *refusedRows) add(index int, p *problems) bool {
	for _, f := range p.Fields() {
		r.refuse(index, f.Name, f.Message)
	}
	return !p.Any()
}

// problems gathers everything that is wrong with a row.
type problems struct{ validate.Problems }
