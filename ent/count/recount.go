package count

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// Kinds lists the tables whose rows are counted.
func Kinds() []string { return []string{"customers", "orders", "payment_links", "products"} }

// facets are the columns that a kind is counted by, or a constant.
func facets(kind string) string {
	switch kind {
	case "orders":
		return "status, '' AS type"
	case "products":
		return "status, type"
	}
	return "'' AS status, '' AS type"
}

// dayOf is the day of a row's created_at in SQL, as the triggers have it.
func (c *Counts) dayOf() string {
	if c.postgres() {
		return "(created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01'"
	}
	return "created_at / 86400000 - (created_at % 86400000 < 0)"
}

// Recount counts all rows of a store again, and returns how many there are. Totals that are right stay so
// meanwhile.
func (c *Counts) Recount(ctx context.Context, store uuid.UUID) (rows int64, err error) {
	for _, kind := range Kinds() {
		err := c.atomically(ctx, func(tx *sql.Tx) error {
			n, err := c.recount(ctx, tx, kind, store)
			rows += n
			return err
		})
		if err != nil {
			return rows, fmt.Errorf("count the %s: %w", kind, err)
		}
	}
	return rows, nil
}

func (c *Counts) recount(ctx context.Context, tx *sql.Tx, kind string, store uuid.UUID) (rows int64, err error) {
	tables := []string{"row_counts"}
	if c.postgres() { // on SQLite the other one is a view
		tables = append(tables, "row_deltas")
	}
	for _, table := range tables {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE store_id = $1 AND kind = $2", store, kind); err != nil {
			return 0, err
		}
	}
	const into = "INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total) "
	if _, err := tx.ExecContext(ctx, into+"SELECT store_id, '"+kind+"', 1, day, status, type, count(*)"+
		" FROM (SELECT store_id, "+c.dayOf()+" AS day, "+facets(kind)+" FROM "+kind+" WHERE store_id = $1) r GROUP BY store_id, day, status, type", store); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, into+"SELECT store_id, kind, 32, first_day & -32, status, type, sum(total) FROM row_counts"+
		" WHERE store_id = $1 AND kind = $2 AND days = 1 GROUP BY store_id, kind, first_day & -32, status, type", store, kind); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, "SELECT COALESCE(CAST(sum(total) AS bigint), 0) FROM row_counts WHERE store_id = $1 AND kind = $2 AND days = 32", store, kind).Scan(&rows)
	return rows, err
}

// Wrong returns how many buckets of a store are wrong, for each kind and width. It counts all rows of the
// store in one statement.
func (c *Counts) Wrong(ctx context.Context, store uuid.UUID, kind string) (buckets int, err error) {
	deltas := ""
	if c.postgres() {
		deltas = `
  UNION ALL SELECT 1, day, status, type, change FROM row_deltas WHERE store_id = $1 AND kind = $2
  UNION ALL SELECT 32, day & -32, status, type, change FROM row_deltas WHERE store_id = $1 AND kind = $2`
	}
	err = c.db.Reader().QueryRowContext(ctx, `WITH found AS MATERIALIZED (
  SELECT day, status, type, count(*) AS total FROM (SELECT `+c.dayOf()+` AS day, `+facets(kind)+` FROM `+kind+` WHERE store_id = $1) r GROUP BY day, status, type)
 SELECT count(*) FROM (SELECT 1 FROM (
  SELECT 1 AS days, day, status, type, -total AS total FROM found
  UNION ALL SELECT 32, day & -32, status, type, -total FROM found
  UNION ALL SELECT days, first_day, status, type, total FROM row_counts WHERE store_id = $1 AND kind = $2`+deltas+`
 ) b GROUP BY days, day, status, type HAVING sum(total) <> 0) w`, store, kind).Scan(&buckets)
	if err != nil {
		return 0, fmt.Errorf("compare the counts of %s: %w", kind, err)
	}
	return buckets, nil
}

// Store is a store as operators name it.
type Store struct {
	ID   uuid.UUID
	Slug string
}

// Sample returns up to n stores at random.
func (c *Counts) Sample(ctx context.Context, n int) ([]Store, error) {
	return c.stores(ctx, "SELECT id, slug FROM stores ORDER BY random() LIMIT $1", n)
}

// StoresAfter returns up to n stores in the order of their ids, after the one with this id.
func (c *Counts) StoresAfter(ctx context.Context, id uuid.UUID, n int) ([]Store, error) {
	return c.stores(ctx, "SELECT id, slug FROM stores WHERE id > $1 ORDER BY id LIMIT $2", id, n)
}

func (c *Counts) stores(ctx context.Context, query string, args ...any) (stores []Store, err error) {
	for row := range db.Rows(ctx, c.db.Reader(), query, args...) {
		var s Store
		if err := row.Scan(&s.ID, &s.Slug); err != nil {
			return nil, fmt.Errorf("list stores: %w", err)
		}
		stores = append(stores, s)
	}
	return stores, nil
}
