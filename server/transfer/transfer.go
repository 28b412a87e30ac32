// Package transfer imports rows into a store, and exports them. A row is a message of the API, such as a Product, which
// cmd/storefront/importfile makes from people's files.
//
//	batch ─► read: rules of each row ─► plan: what the store has ─► store: rows, and their number in the import's journal entry
//
// An import keeps ids, dates, statuses, references and counters. A row whose id the store has does not change, or with the
// option update changes as by a PATCH. So a second import of a file continues one that was interrupted. Events are sent only if
// the options say so.
//
// Export reads all rows of a store in one transaction, and Importer.Rows imports them into another store. Their counters are
// complete, so Rows counts nothing again.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
	"go.storefront.example/server/webhooks"
)

// BatchRows is how many rows a batch has at most.
const BatchRows = 500

// Kind is a kind of row.
type Kind string

// These are the kinds of rows in people's files.
const (
	Products  Kind = "products"
	Customers Kind = "customers"
	Orders    Kind = "orders"
)

// Kinds are all kinds, in the order in which their rows refer to each other.
var Kinds = []Kind{Products, Customers, Orders}

// Importer loads rows into stores. Goroutines may share it.
type Importer struct {
	db       *db.DB
	webhooks *webhooks.Webhooks
}

// New returns an importer into the stores of a database. w checks imported webhooks.
func New(d *db.DB, w *webhooks.Webhooks) *Importer { return &Importer{d, w} }

// Products imports a batch of products. It refuses with validation_failed.
func (m *Importer) Products(ctx context.Context, in *adminv1.ImportProductsRequest) (*adminv1.ImportResponse, error) {
	return load(ctx, m, "products", in.GetProducts(), in.GetOptions(), &products{})
}

// Customers imports a batch of customers. It refuses with validation_failed.
func (m *Importer) Customers(ctx context.Context, in *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error) {
	return load(ctx, m, "customers", in.GetCustomers(), in.GetOptions(), &customers{})
}

// Orders imports a batch of orders. It refuses with validation_failed.
func (m *Importer) Orders(ctx context.Context, in *adminv1.ImportOrdersRequest) (*adminv1.ImportResponse, error) {
	return load(ctx, m, "orders", in.GetOrders(), in.GetOptions(), &orders{})
}

// Finish writes the notice to the platform that an import has ended. It refuses with validation_failed.
func (m *Importer) Finish(ctx context.Context, in *adminv1.FinishImportRequest) (*adminv1.FinishImportResponse, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	if kind := Kind(in.GetKind()); kind != WholeExport && !slices.Contains(Kinds, kind) {
		return nil, apierr.Invalid("The kind is unknown.", apijson.Field{Name: "kind",
			Message: "must be products, customers, orders or export"})
	}
	return &adminv1.FinishImportResponse{}, hook.Run(ctx, m.db, func(c *hook.Change) error {
		return notice.Write(c, m.db, c.Tx, c.Time(), notice.Notice{Type: notice.ImportFinished, StoreID: t.ID,
			Data: map[string]any{"kind": in.GetKind(), "stored": in.GetStored(), "changed": in.GetChanged(), "skipped": in.GetSkipped()}})
	})
}

// kind has those steps of an import that differ from one kind of row to another.
type kind[M, R any] interface {
	// base returns the batch that the type embeds.
	base() *batch[R]
	// read converts a message to a row.
	read(p *problems, in M) row[R]
	// plan locks and changes rows of the store, and refuses the batch's rows that conflict with them.
	plan(c *hook.Change) error
	// store inserts the rows that the store lacks, and updates counters.
	store(c *hook.Change) error
}

// errNothing rolls back a transaction that is to store nothing.
var errNothing = errors.New("nothing to store")

func load[M, R any](ctx context.Context, m *Importer, name string, messages []M, options *adminv1.ImportOptions,
	k kind[M, R]) (*adminv1.ImportResponse, error) {
	t, _, ok := tenant.From(ctx)
	if !ok {
		return nil, errors.New("the context names no store")
	}
	if n := len(messages); n == 0 || n > BatchRows {
		return nil, apierr.Invalid("The batch is empty or too large.", apijson.Field{Name: name,
			Message: fmt.Sprintf("must hold 1 to %d rows", BatchRows)})
	}
	importID, ok := validate.ParseID(options.GetImportId())
	if (!ok || importID.Version() != 7) && options.GetImportId() != "" {
		return nil, apierr.Invalid("The import's id cannot be read.", apijson.Field{Name: "importId", Message: "must be a UUID of version 7"})
	}
	b := k.base()
	b.db, b.t, b.options = m.db, t, options
	for i, in := range messages {
		p := &problems{t: t, exported: b.exported}
		if l := k.read(p, in); !p.Any() {
			l.index = i
			b.rows = append(b.rows, l)
		}
		for _, f := range p.Fields() {
			b.refuse(i, f.Name, f.Message)
		}
	}
	unread := len(b.refusals)
	recorded := []hook.Option{hook.WithoutCreations} // the import has one journal entry for all its rows
	if !options.GetEvents() {
		recorded = append(recorded, hook.WithoutEvents)
	}
	err := hook.Run(ctx, m.db, func(c *hook.Change) error {
		b.refusals, b.changed, b.known = b.refusals[:unread], nil, nil
		if err := m.applySetting(c, lookupSetting); err != nil {
			return err
		}
		if !options.GetDryRun() {
			if err := m.applySetting(c, oneImport); err != nil {
				return err
			}
		}
		// The import changes the store's updatedAt. This lock also makes imports into one store run one after the other.
		s, err := hook.LockRow(c, c.Tx.Store.Query().Where(store.ID(t.ID)))
		if err != nil {
			return fmt.Errorf("read store: %w", err)
		}
		b.url = strings.TrimSuffix(s.URL, "/")
		if err := k.plan(c); err != nil {
			return err
		}
		if len(b.fresh)+len(b.changed) == 0 || options.GetDryRun() || len(b.refusals) > 0 {
			return errNothing
		}
		if err := m.applySetting(c, storeSetting); err != nil {
			return err
		}
		if err := k.store(c); err != nil {
			return fmt.Errorf("store %s: %w", name, err)
		}
		if len(b.fresh) == 0 || b.exported {
			return nil
		}
		if err := s.Update().SetUpdatedAt(c.Time(s.ID)).Exec(c); err != nil {
			return fmt.Errorf("update store: %w", err)
		}
		if importID == uuid.Nil {
			c.Record("store.imported", "store", t.ID, hook.FieldChange{Field: name, To: int64(len(b.fresh))})
			return nil
		}
		c.RecordPart(importID, "store.imported", "store", t.ID, name, int64(len(b.fresh)))
		return nil
	}, recorded...)
	if err != nil && !errors.Is(err, errNothing) {
		return nil, err
	}
	out := &adminv1.ImportResponse{Refused: b.refusals}
	if len(out.Refused) == 0 {
		done := make([]bool, len(messages))
		for _, l := range b.fresh {
			done[l.index] = true
		}
		for _, index := range b.changed {
			done[index] = true
		}
		for i, ok := range done {
			if !ok {
				out.SkippedRows = append(out.SkippedRows, int32(i)) //nolint:gosec // At most BatchRows.
			}
		}
		out.Stored, out.Changed, out.Skipped = int32(len(b.fresh)), int32(len(b.changed)),
			int32(len(out.SkippedRows)) //nolint:gosec // At most BatchRows.
	}
	if options.GetDryRun() {
		for _, c := range b.known {
			out.Customers = append(out.Customers, resource.Customer(c, t.Currency))
		}
	}
	return out, nil
}

// These are PostgreSQL settings and a lock for the transaction of a batch.
const (
	// lookupSetting makes PostgreSQL plan each look-up anew and use an index: a plan that it cached while a table was small
	// reads the whole table.
	lookupSetting = "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = off"
	// storeSetting lets PostgreSQL cache the plans of the checks of foreign keys, which it would make anew for each row.
	storeSetting = "SET LOCAL plan_cache_mode = auto"
	// oneImport makes the batches of all imports run one after the other, so that each sees the ids of the others: on
	// PostgreSQL the primary keys contain the store and would accept an id once in each.
	oneImport = "SELECT pg_advisory_xact_lock(5917214180743272)"
)

func (m *Importer) applySetting(c *hook.Change, setting string) error {
	if m.db.Dialect() != dialect.Postgres {
		return nil
	}
	if _, err := c.Tx.ExecContext(c, setting); err != nil {
		return fmt.Errorf("settle how a batch is stored: %w", err)
	}
	return nil
}

// refusedRows collects the refused fields of a batch.
type refusedRows struct{ refusals []*adminv1.RefusedRow }

// refuse refuses a field of a row.
func (r *refusedRows) refuse(index int, field, message string) {
	r.refusals = append(r.refusals, &adminv1.RefusedRow{Index: int32(index), Field: field,
		Message: message}) //nolint:gosec // Below BatchRows.
}

// refusalFields says how an import refuses a row that package shop refuses: by the code of shop's refusal, the field and the
// message. For other codes, the import uses the message of shop's refusal and names no field.
var refusalFields = map[apierr.Code]apijson.Field{
	apierr.CompareAtInvalid: {Name: "compareAtAmount", Message: "must be above priceAmount, or null"},
	apierr.ProductTypeUnavailable: {Name: "status", Message: "cannot be PUBLISHED: the store cannot publish products of " +
		"this type"},
	apierr.ProductIncomplete:          {Name: "status", Message: "cannot be PUBLISHED: the product lacks "},
	apierr.CustomerConflict:           {Name: "email", Message: "or the phone is another customer's"},
	apierr.CustomerIdentifierRequired: {Name: "email", Message: "is required, or a phone"},
	apierr.PaymentLinkInvalidPricing:  {Name: "pricing", Message: "must be FIXED with amount alone, or OPEN with minAmount alone"},
}

// refused refuses a row if err is a refusal, and then returns true. It returns any other error unchanged.
func (r *refusedRows) refused(index int, err error) (bool, error) {
	refusal, ok := errors.AsType[*apierr.Refusal](err)
	if !ok {
		return false, err
	}
	field := refusalField(refusal)
	r.refuse(index, field.Name, field.Message)
	return true, nil
}

func refusalField(refusal *apierr.Refusal) apijson.Field {
	field, ok := refusalFields[refusal.Code]
	if !ok {
		field.Message = refusal.Message
	}
	field.Message += strings.Join(refusal.Details.GetMissing(), " and ")
	return field
}

// rule refuses the row as refused does, while it is read. err is what a rule of package shop returned.
func (p *problems) rule(err error) {
	if refusal, ok := errors.AsType[*apierr.Refusal](err); ok {
		field := refusalField(refusal)
		p.Invalid(field.Name, field.Message)
	}
}
