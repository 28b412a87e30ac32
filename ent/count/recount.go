package count

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/resource"
)

const (
	// batchRows is how many rows one transaction counts, and more if one wide bucket has more.
	batchRows = 10_000
	// storeRows is the cost of a store beside its rows, as a number of rows.
	storeRows = 20
)

// The days of the years 1 to 9999, which are all that the API accepts: from the first to before the last.
var (
	firstDay = resource.WideStart(resource.Day(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)))
	endDay   = resource.Day(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)) + 1
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

// Fill counts a batch of the rows that are older than the counts, and reports whether none is left. Of
// several processes one fills at a time.
func (c *Counts) Fill(ctx context.Context) (done bool, err error) {
	left, err := within(ctx, shortTimeout, c.Unfilled)
	if err != nil || len(left) == 0 {
		return err == nil, err
	}
	err = c.atomically(ctx, func(tx *sql.Tx) error { return c.fill(ctx, tx) })
	if err != nil {
		return false, fmt.Errorf("count the rows: %w", err)
	}
	return false, nil
}

// fill counts from where the last batch ended.
func (c *Counts) fill(ctx context.Context, tx *sql.Tx) error {
	var (
		kind  string
		store uuid.NullUUID
		day   sql.NullInt64 // null when the store is done
	)
	err := tx.QueryRowContext(ctx, "SELECT kind, store_id, next_day FROM row_count_fills WHERE NOT done ORDER BY kind LIMIT 1").Scan(&kind, &store, &day)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // another process has counted it
	}
	for rows := int64(0); err == nil && rows < c.batchRows; rows += storeRows {
		if !day.Valid {
			err = tx.QueryRowContext(ctx, "SELECT id FROM stores WHERE id > $1 ORDER BY id LIMIT 1", store.UUID).Scan(&store)
			if errors.Is(err, sql.ErrNoRows) {
				_, err = tx.ExecContext(ctx, "UPDATE row_count_fills SET done = true WHERE kind = $1", kind)
				return err
			}
			day = sql.NullInt64{Int64: firstDay, Valid: true}
		}
		if err == nil {
			var n int64
			n, day, err = c.recount(ctx, tx, kind, store.UUID, day.Int64)
			rows += n
		}
	}
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE row_count_fills SET store_id = $2, next_day = $3 WHERE kind = $1", kind, store, day)
	return err
}

// Recount counts all rows of a store again. Totals that are right stay so meanwhile.
func (c *Counts) Recount(ctx context.Context, store uuid.UUID) (rows int64, err error) {
	for _, kind := range Kinds() {
		for day := (sql.NullInt64{Int64: firstDay, Valid: true}); day.Valid; {
			err := c.atomically(ctx, func(tx *sql.Tx) error {
				n, next, err := c.recount(ctx, tx, kind, store, day.Int64)
				rows, day = rows+n, next
				return err
			})
			if err != nil {
				return rows, fmt.Errorf("count the %s: %w", kind, err)
			}
		}
	}
	return rows, nil
}

// recount counts rows of a store from a day on: batchRows, and the rest of the last one's wide bucket.
// next is the day to continue from, null when none is left.
func (c *Counts) recount(ctx context.Context, tx *sql.Tx, kind string, store uuid.UUID, from int64) (rows int64, next sql.NullInt64, err error) {
	to := endDay
	var at time.Time
	err = tx.QueryRowContext(ctx, "SELECT created_at FROM "+kind+" WHERE store_id = $1 AND created_at >= $2 ORDER BY created_at LIMIT 1 OFFSET $3",
		store, resource.DayStart(from), c.batchRows).Scan(&at)
	switch {
	case err == nil:
		to = resource.WideStart(resource.Day(at)) + resource.WideDays
		next = sql.NullInt64{Int64: to, Valid: true}
	case !errors.Is(err, sql.ErrNoRows):
		return 0, next, err
	}
	for _, table := range []string{"row_deltas", "row_counts"} {
		first := "first_day"
		if table == "row_deltas" {
			if first = "day"; !c.postgres() {
				continue // it is a view
			}
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE store_id = $1 AND kind = $2 AND "+first+" >= $3 AND "+first+" < $4",
			store, kind, from, to); err != nil {
			return 0, next, err
		}
	}
	const into = "INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total) "
	if _, err := tx.ExecContext(ctx, into+"SELECT store_id, '"+kind+"', 1, day, status, type, count(*) FROM (SELECT store_id, "+c.dayOf()+" AS day, "+facets(kind)+
		" FROM "+kind+" WHERE store_id = $1 AND created_at >= $2 AND created_at < $3) r GROUP BY store_id, day, status, type",
		store, resource.DayStart(from), resource.DayStart(to)); err != nil {
		return 0, next, err
	}
	if _, err := tx.ExecContext(ctx, into+"SELECT store_id, kind, 32, first_day & -32, status, type, sum(total) FROM row_counts"+
		" WHERE store_id = $1 AND kind = $2 AND days = 1 AND first_day >= $3 AND first_day < $4 GROUP BY store_id, kind, first_day & -32, status, type",
		store, kind, from, to); err != nil {
		return 0, next, err
	}
	err = tx.QueryRowContext(ctx, "SELECT COALESCE(CAST(sum(total) AS bigint), 0) FROM row_counts WHERE store_id = $1 AND kind = $2 AND days = 32 AND first_day >= $3 AND first_day < $4",
		store, kind, from, to).Scan(&rows)
	return rows, next, err
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
