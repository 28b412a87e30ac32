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

// countCTE returns "WITH found AS (…)", a store's rows of a kind by day, status and type. A column that the kind lacks is "".
func (d *dialect) countCTE(kind string) string {
	facets := "'' AS status, '' AS type"
	switch kind {
	case "orders":
		facets = "status, '' AS type"
	case "products":
		facets = "status, type"
	}
	return "WITH found AS MATERIALIZED (SELECT " + d.day + " AS day, " + facets + ", count(*) AS total FROM " + kind +
		" WHERE store_id = $1 GROUP BY 1, 2, 3)\n"
}

// Recount counts all rows of a store again and returns their number. Totals that are right stay right while it runs.
func (c *Counts) Recount(ctx context.Context, store uuid.UUID) (rows int64, err error) {
	for _, kind := range Kinds() {
		n, err := c.recount(ctx, kind, store)
		if err != nil {
			return rows, fmt.Errorf("count the %s: %w", kind, err)
		}
		rows += n
	}
	return rows, nil
}

// recount counts one kind, in a transaction during which no process can fold.
func (c *Counts) recount(ctx context.Context, kind string, store uuid.UUID) (rows int64, err error) {
	tx, err := c.db.Writer().BeginTx(ctx, &sql.TxOptions{Isolation: c.dialect.isolation})
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // no effect after the commit
	if c.dialect.lock != "" {
		if _, err := tx.ExecContext(ctx, c.dialect.lock); err != nil {
			return 0, err
		}
	}
	for _, table := range c.dialect.tables {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE store_id = $1 AND kind = $2", store, kind); err != nil {
			return 0, err
		}
	}
	for _, statement := range []string{c.dialect.countCTE(kind) + statements["days"], statements["wide"]} {
		if _, err := tx.ExecContext(ctx, statement, store, kind); err != nil {
			return 0, err
		}
	}
	if err := tx.QueryRowContext(ctx, statements["total"], store, kind).Scan(&rows); err != nil {
		return 0, err
	}
	return rows, tx.Commit()
}

// Mismatches counts all of the store's rows of a kind, and returns how many of the stored counts, for days and for 32 days,
// differ.
func (c *Counts) Mismatches(ctx context.Context, store uuid.UUID, kind string) (wrong int, err error) {
	query := c.dialect.countCTE(kind) + statements["wrong"]
	if err := c.db.Reader().QueryRowContext(ctx, query, store, kind).Scan(&wrong); err != nil {
		return 0, fmt.Errorf("compare the counts of %s: %w", kind, err)
	}
	return wrong, nil
}

// Store is a store, which operators know by its slug.
type Store struct {
	ID   uuid.UUID
	Slug string
}

// Sample returns up to n random stores.
func (c *Counts) Sample(ctx context.Context, n int) ([]Store, error) {
	return c.stores(ctx, "SELECT id, slug FROM stores ORDER BY random() LIMIT $1", n)
}

// StoresAfter returns the n stores with the lowest ids above id, in order; fewer if there are no more.
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
