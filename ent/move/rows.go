package move

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sqlbuilder "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
)

// Table is a table of a store's rows.
type Table struct {
	Name string
	// changed finds the rows that may have changed since a time. Without it the table is compared whole, and what is no longer
	// there is deleted.
	changed string
	// created finds the rows made before a time, where they refer to rows of other tables.
	created string
	// version are columns of which one changes whenever the row does; rows without any never change.
	version []string
	// Small is whether all rows are copied each time.
	Small bool
	// unique are columns whose values can pass from one row to another.
	unique []string
	// key are the columns by which a row takes the place of another, if that is not the primary key.
	key []string
}

// withOrders finds rows that have changed since a time, or one of whose orders has, which the column names: their counters
// have no time of their own.
func withOrders(column string) string {
	return "(updated_at >= $%[1]d OR id IN (SELECT " + column + " FROM orders WHERE store_id = $1 AND updated_at >= $%[1]d))"
}

// Tables are those of what a store has, with those first that others refer to. The counts of rows, which triggers keep, are not
// among them, nor what is of the old place alone: sign-ins, the requests of a minute, and what was noted for some days
// about use and refusals.
var Tables = []Table{
	{Name: "stores", Small: true},
	{Name: "api_keys", Small: true},
	{Name: "products", changed: "updated_at >= $%[1]d", version: []string{"updated_at"}, unique: []string{"slug"}},
	{Name: "customers", changed: withOrders("customer_id"), version: []string{"updated_at", "orders_count", "total_paid"},
		unique: []string{"email", "phone"}},
	{Name: "payment_links", changed: withOrders("payment_link_id"), version: []string{"updated_at", "paid_count", "paid_amount"}},
	{Name: "orders", changed: "updated_at >= $%[1]d", created: "created_at < $%[1]d", version: []string{"updated_at"}},
	{Name: "order_items", changed: "order_id IN (SELECT id FROM orders WHERE store_id = $1 AND created_at >= $%[1]d)",
		created: "order_id IN (SELECT id FROM orders WHERE store_id = $1 AND created_at < $%[1]d)"},
	{Name: "events", changed: "created_at >= $%[1]d"},
	{Name: "activity_entries", changed: "created_at >= $%[1]d"},
	{Name: "idempotency_keys", changed: "created_at >= $%[1]d", key: []string{"store_id", "operation", "key"}},
	{Name: "forgettings", Small: true},
	{Name: "webhooks", Small: true},
	{Name: "outbox"},
	{Name: "resends", Small: true},
	{Name: "deliveries", version: []string{"due_at"}},
	{Name: "finished_deliveries", changed: "finished_at >= $%[1]d"},
}

// Whole is whether the table is always compared whole.
func (t Table) Whole() bool { return t.changed == "" }

// Find returns the table with a name.
func Find(name string) (Table, bool) {
	i := slices.IndexFunc(Tables, func(t Table) bool { return t.Name == name })
	return Tables[max(i, 0)], i >= 0
}

// owner is the column of the store's id.
func (t Table) owner() string {
	if t.Name == "stores" {
		return "id"
	}
	return "store_id"
}

const (
	// listLimit is how many ids one answer lists, and readBytes about how much the rows of one have.
	listLimit = 20000
	readBytes = 400 << 10
)

// Listed is the id of a row, and what differs in another version of it.
type Listed struct {
	ID      uuid.UUID
	Version string
}

// Range says which rows to list: those after and up to an id, and, where the table tells, those changed since and made
// before a time.
type Range struct {
	After, Until uuid.UUID
	Since        time.Time
	Before       time.Time
}

// List lists rows of a store in the order of their ids, and whether there are more.
func List(ctx context.Context, s *db.DB, storeID uuid.UUID, t Table, r Range) (found []Listed, more bool, err error) {
	query, args := "SELECT id", []any{storeID, r.After, r.Until}
	for _, column := range t.version {
		query += ", " + column
	}
	query += " FROM " + t.Name + " WHERE " + t.owner() + " = $1 AND id > $2 AND id <= $3"
	for _, c := range []struct {
		condition string
		at        time.Time
	}{{t.changed, r.Since}, {t.created, r.Before}} {
		if c.condition != "" && !c.at.IsZero() {
			args = append(args, c.at)
			query += " AND " + fmt.Sprintf(c.condition, len(args))
		}
	}
	version := make([]any, len(t.version))
	for row := range db.Rows(ctx, s.Reader(), query+fmt.Sprintf(" ORDER BY id LIMIT %d", listLimit+1), args...) {
		var l Listed
		into := []any{&l.ID}
		for i := range version {
			into = append(into, &version[i])
		}
		if err := row.Scan(into...); err != nil {
			return nil, false, fmt.Errorf("list %s: %w", t.Name, err)
		}
		for i, value := range version {
			if at, is := value.(time.Time); is {
				version[i] = at.UnixMilli()
			}
		}
		l.Version = fmt.Sprint(version...)
		found = append(found, l)
	}
	if len(found) > listLimit {
		return found[:listLimit], true, nil
	}
	return found, false, nil
}

// among is a condition for a store's rows with ids, which are its parameters $1 and $2.
func (t Table) among(s *db.DB, ids []uuid.UUID) (condition string, arg any) {
	text, _ := json.Marshal(ids) // UUIDs
	return t.owner() + " = $1 AND " + db.Of(s, "id = ANY ($2::uuid[])", "id IN (SELECT value FROM json_each($2))"),
		db.Of[any](s, ids, string(text))
}

// Rows are rows of a table, each a JSON array of the values of the columns. The secrets of webhooks are in clear.
type Rows struct {
	Columns []string
	Rows    []string
}

// Read reads the rows with the ids, which are in order, and returns at how many ids it looked: at fewer if the rows are long.
func Read(ctx context.Context, s *db.DB, secrets *seal.Ring, storeID uuid.UUID, t Table, ids []uuid.UUID) (out Rows, looked int,
	err error) {
	condition, arg := t.among(s, ids)
	rows, err := s.Reader().QueryContext(ctx, "SELECT * FROM "+t.Name+" WHERE "+condition+" ORDER BY id", storeID, arg)
	if err != nil {
		return out, 0, fmt.Errorf("read %s: %w", t.Name, err)
	}
	defer func() { _ = rows.Close() }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return out, 0, err
	}
	for _, c := range types {
		out.Columns = append(out.Columns, c.Name())
	}
	for size := 0; rows.Next(); {
		values := holders(types)
		if err := rows.Scan(values...); err != nil {
			return out, 0, fmt.Errorf("read %s: %w", t.Name, err)
		}
		if t.Name == "webhooks" {
			if err := eachSecret(out.Columns, values, func(id uuid.UUID, secret *[]byte, key *string) error {
				plain, err := secrets.Open(*secret, *key, id[:])
				*secret, *key = []byte(plain), ""
				return err
			}); err != nil {
				return out, 0, fmt.Errorf("open the secret of a webhook: %w", err)
			}
		}
		row, err := json.Marshal(values)
		if err != nil {
			return out, 0, fmt.Errorf("read %s: %w", t.Name, err)
		}
		out.Rows = append(out.Rows, string(row))
		if size += len(row); size > readBytes {
			last := **values[slices.Index(out.Columns, "id")].(**string)
			return out, slices.IndexFunc(ids, func(id uuid.UUID) bool { return id.String() == last }) + 1, nil
		}
	}
	return out, len(ids), rows.Err()
}

// eachSecret passes what a row of webhooks has of its secret.
func eachSecret(columns []string, values []any, pass func(uuid.UUID, *[]byte, *string) error) error {
	at := func(column string) any { return values[slices.Index(columns, column)] }
	id, err := uuid.Parse(**at("id").(**string))
	if err != nil {
		return err
	}
	return pass(id, at("secret").(*[]byte), *at("secret_key").(**string))
}

// holders are variables for the columns' values, which a database's driver and encoding/json both fill.
func holders(types []*sql.ColumnType) []any {
	values := make([]any, len(types))
	for i, c := range types {
		switch strings.ToUpper(c.DatabaseTypeName()) {
		case "TIMESTAMPTZ", "DATETIME":
			values[i] = new(*time.Time)
		case "BYTEA", "BLOB", "JSON", "JSONB":
			values[i] = new([]byte)
		case "BOOL":
			values[i] = new(*bool)
		case "INT4", "INT8", "INTEGER":
			values[i] = new(*int64)
		case "FLOAT8", "REAL":
			values[i] = new(*float64)
		default:
			values[i] = new(*string)
		}
	}
	return values
}

// ErrRows is that of rows that cannot be written. Its text is for the operator.
var ErrRows = errors.New("the rows cannot be written")

// Write writes rows of a store that arrives in place of those with their ids, and deletes others. The row of the table
// stores makes the store arrive, and lets the run write the others. It fails with ErrRows.
func Write(ctx context.Context, s *db.DB, secrets *seal.Ring, storeID uuid.UUID, run string, t Table, in Rows,
	gone []uuid.UUID) error {
	if len(in.Rows) > 0 && (!slices.Contains(in.Columns, "id") || !slices.Contains(in.Columns, t.owner())) {
		return fmt.Errorf("%w: a row needs its id and its store", ErrRows)
	}
	if db.OfSharded(s, false, true, false) {
		return fmt.Errorf("%w: the database here is distributed with Citus, where no store moves", ErrRows)
	}
	tx, err := s.Writer().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	var step, writer string
	err = tx.QueryRowContext(ctx, "SELECT COALESCE(moving, ''), move_run FROM stores WHERE id = $1 AND delete_at IS NULL"+
		s.RowLock(""), storeID).Scan(&step, &writer)
	absent := errors.Is(err, sql.ErrNoRows)
	switch {
	case err != nil && !absent:
		return fmt.Errorf("read the store: %w", err)
	case absent && t.Name != "stores", !absent && step != tenant.Arriving:
		return fmt.Errorf("%w: the store is here already, or being deleted, and does not arrive", ErrRows)
	case t.Name != "stores" && writer != run:
		return fmt.Errorf("%w: another run of the move has begun meanwhile", ErrRows)
	}
	if len(gone) > 0 {
		condition, ids := t.among(s, gone)
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+t.Name+" WHERE "+condition, storeID, ids); err != nil {
			return fmt.Errorf("delete from %s: %w", t.Name, err)
		}
	}
	if len(in.Rows) > 0 {
		rows, err := parse(ctx, tx, secrets, storeID, run, t, in)
		if err != nil {
			return err
		}
		if err := replace(ctx, s, tx, storeID, t, in.Columns, rows); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// exec runs a statement of ent's builder.
func exec(ctx context.Context, tx *sql.Tx, statement interface{ Query() (string, []any) }) (sql.Result, error) {
	query, args := statement.Query()
	return tx.ExecContext(ctx, query, args...)
}

// replace writes rows in place of those with their ids.
func replace(ctx context.Context, s *db.DB, tx *sql.Tx, storeID uuid.UUID, t Table, columns []string, rows [][]any) error {
	builder := sqlbuilder.Dialect(s.Dialect())
	// A value that passes from one row to another is first taken from the one that is written later.
	for _, column := range t.unique {
		values := make([]any, len(rows))
		for i, row := range rows {
			values[i] = row[slices.Index(columns, column)]
		}
		if _, err := exec(ctx, tx, builder.Update(t.Name).Set(column, sqlbuilder.Expr("CAST(id AS text)")).Where(sqlbuilder.And(
			sqlbuilder.EQ("store_id", storeID), sqlbuilder.In(column, values...)))); err != nil {
			return fmt.Errorf("free the values of %s in %s: %w", column, t.Name, err)
		}
	}
	insert := builder.Insert(t.Name).Columns(columns...)
	for _, row := range rows {
		insert.Values(row...)
	}
	by := db.Of(s, sqlbuilder.ConflictConstraint(t.Name+"_pkey"), sqlbuilder.ConflictColumns("id"))
	if t.key != nil {
		by = sqlbuilder.ConflictColumns(t.key...)
	}
	result, err := exec(ctx, tx, insert.OnConflict(by, sqlbuilder.ResolveWithNewValues(), sqlbuilder.UpdateWhere(
		sqlbuilder.ExprP(t.Name+"."+t.owner()+" = excluded."+t.owner()))))
	if err != nil {
		return fmt.Errorf("write into %s: %w", t.Name, err)
	}
	if n, err := result.RowsAffected(); err != nil || int(n) < len(rows) {
		return errors.Join(err, fmt.Errorf("%w: ids of %s are another store's here, perhaps of an import on trial: delete that first",
			ErrRows, t.Name))
	}
	return nil
}

// parse reads the values of rows. Those of the store's own row make it arrive with the run.
func parse(ctx context.Context, tx *sql.Tx, secrets *seal.Ring, storeID uuid.UUID, run string, t Table, in Rows) (all [][]any,
	err error) {
	for _, column := range in.Columns {
		if strings.Trim(column, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return nil, fmt.Errorf("%w: %q is no column", ErrRows, column)
		}
	}
	rows, err := tx.QueryContext(ctx, `SELECT "`+strings.Join(in.Columns, `", "`)+`" FROM `+t.Name+" WHERE false")
	if err != nil {
		return nil, fmt.Errorf("%w: the tables are of another release: %w", ErrRows, err)
	}
	defer func() { _ = rows.Close() }()
	types, err := rows.ColumnTypes()
	if err := errors.Join(err, rows.Err()); err != nil {
		return nil, err
	}
	owner := slices.Index(in.Columns, t.owner())
	for _, row := range in.Rows {
		values := holders(types)
		if err := json.Unmarshal([]byte(row), &values); err != nil || len(values) != len(types) {
			return nil, fmt.Errorf("%w: a row of %s is not as its columns are", ErrRows, t.Name)
		}
		if id, ok := values[owner].(**string); !ok || *id == nil || **id != storeID.String() {
			return nil, fmt.Errorf("%w: a row of %s is of another store", ErrRows, t.Name)
		}
		if t.Name == "webhooks" {
			if err := eachSecret(in.Columns, values, func(id uuid.UUID, secret *[]byte, key *string) error {
				*secret, *key = secrets.Seal(string(*secret), id[:])
				return nil
			}); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrRows, err)
			}
		}
		for i, column := range in.Columns {
			switch {
			case t.Name != "stores":
			case column == "moving":
				values[i] = tenant.Arriving
			case column == "move_run":
				values[i] = run
			case column == "moved_to", column == "redirect_to":
				values[i] = ""
			}
		}
		all = append(all, values)
	}
	return all, nil
}
