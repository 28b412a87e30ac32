// Package count keeps how many rows each store has, by kind, status, type and UTC day of createdAt,
// so that the total of a list and the place of any page cost the same at a thousand rows as at ten
// million. Package resource reads the counts, in the statement that reads the page.
//
//	a change of a row ──► trigger: a difference (row_deltas) ──► Fold ──► row_counts
//	                      in the transaction of the change       every second: a day, and 32 days
//
// Triggers write the differences, and not hooks of the program. So they include the changes of the
// release before while it runs on the new schema, of bulk loads and of statements written by hand, and
// cost no round trip. A difference is a new row, so that writers of one store never wait for each other;
// on SQLite, which has a single writer, the trigger adds it to the counts at once. Readers add the
// differences to the counts, so Fold changes no total. Every server and every worker folds; while none
// runs, differences gather and totals stay right.
//
// A database from before the counts is filled in batches while it is used:
//
//	migration: triggers ──► Fill: store by store, some thousand rows a transaction ──► complete
//	lists count row by row ·····································································│ lists use the counts
//
// A batch deletes the counts and differences of some days and counts their rows, all in one snapshot. A
// row and its difference come from the same transaction: if the snapshot has them, the row is counted and
// the difference deleted; if not, the difference stays and is folded later. Fold waits for the batch;
// writers and lists do not. If a process dies, its batch is rolled back and another process continues.
// Recount does the same for wrong counts, which only a partial restore, a disabled trigger or a TRUNCATE
// can cause.
package count

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/resource"
)

const (
	// foldBatch is how many differences one statement folds.
	foldBatch = 5000
	// interval is how often Keep folds: how many seconds' differences a list may have to add.
	interval = time.Second
	// errorPause is the wait after a database error.
	errorPause = 10 * time.Second
	// shortTimeout and batchTimeout are how long Keep waits for the database: a server behind a proxy may
	// vanish without a word. A batch of Fill counts a whole bucket, which may have millions of rows.
	shortTimeout = 15 * time.Second
	batchTimeout = 30 * time.Minute
)

// Counts keeps the counts of a database. Goroutines may share it.
type Counts struct {
	db       *db.DB
	complete atomic.Bool
	asked    atomic.Int64 // when complete was last asked for, in milliseconds
	// batchRows is the constant of that name; tests change it.
	batchRows int64
}

// On returns the counts of the database.
func On(s *db.DB) *Counts { return &Counts{db: s, batchRows: batchRows} }

// Lists returns a reader of lists that uses the counts if they are complete.
func (c *Counts) Lists(ctx context.Context) resource.Lists {
	return resource.Lists{Querier: c.db.Reader(), Postgres: c.postgres(), Counted: c.isComplete(ctx)}
}

func (c *Counts) postgres() bool { return c.db.Dialect() == dialect.Postgres }

// isComplete reports whether every row is counted, which it then stays. Until it is, isComplete asks the
// database at most once every interval.
func (c *Counts) isComplete(ctx context.Context) bool {
	if c.complete.Load() {
		return true
	}
	now := time.Now().UnixMilli()
	asked := c.asked.Load() // later than now if the clock was set back
	if asked <= now && now-asked < interval.Milliseconds() || !c.asked.CompareAndSwap(asked, now) {
		return false
	}
	left, err := c.Unfilled(ctx)
	if err != nil || len(left) > 0 {
		return false // the list's own statement returns the database's error
	}
	c.complete.Store(true)
	return true
}

// Unfilled lists the kinds of rows that are not all counted yet.
func (c *Counts) Unfilled(ctx context.Context) (kinds []string, err error) {
	for row := range db.Rows(ctx, c.db.Reader(), "SELECT kind FROM row_count_fills WHERE NOT done ORDER BY kind") {
		var kind string
		if err := row.Scan(&kind); err != nil {
			return nil, fmt.Errorf("read which rows are counted: %w", err)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// Keep folds and fills until the context ends. Any number of processes may do so at once.
func (c *Counts) Keep(ctx context.Context, log *slog.Logger) {
	filled := false
	for ctx.Err() == nil {
		start := time.Now()
		folded, err := within(ctx, shortTimeout, c.Fold)
		if err == nil && !filled {
			filled, err = within(ctx, batchTimeout, c.Fill)
		}
		wait := interval
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.WarnContext(ctx, "keep the counts of rows", "error", err)
			wait = errorPause
		case !filled || folded == foldBatch:
			wait = time.Since(start) // others get as much time
		case !c.postgres():
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

func within[T any](ctx context.Context, limit time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return do(ctx)
}

// fold is the statement that deletes differences, skipping those that another process folds, and adds
// them to the counts in the order of their keys, so that two statements never deadlock.
const fold = `WITH taken AS (
  DELETE FROM row_deltas WHERE (store_id, id) IN (SELECT store_id, id FROM row_deltas ORDER BY store_id, id LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING store_id, kind, day, status, type, change),
 added AS (
  INSERT INTO row_counts AS c (store_id, kind, days, first_day, status, type, total)
  SELECT store_id, kind, days, first_day, status, type, sum(change) FROM (
    SELECT store_id, kind, 1 AS days, day AS first_day, status, type, change FROM taken
    UNION ALL SELECT store_id, kind, 32, day & -32, status, type, change FROM taken) t
  GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(change) <> 0 ORDER BY 1, 2, 3, 4, 5, 6
  ON CONFLICT (store_id, kind, days, first_day, status, type) DO UPDATE SET total = c.total + excluded.total)
 SELECT count(*) FROM taken`

// Fold adds a batch of differences to the counts and returns how many there were.
func (c *Counts) Fold(ctx context.Context) (int, error) {
	if !c.postgres() {
		return 0, nil
	}
	var n int
	if err := c.db.Writer().QueryRowContext(ctx, fold, foldBatch).Scan(&n); err != nil {
		return 0, fmt.Errorf("fold the counts: %w", err)
	}
	return n, nil
}

// atomically runs do in one transaction at one snapshot, while nobody folds.
func (c *Counts) atomically(ctx context.Context, do func(tx *sql.Tx) error) error {
	options := &sql.TxOptions{}
	if c.postgres() {
		options.Isolation = sql.LevelRepeatableRead
	}
	tx, err := c.db.Writer().BeginTx(ctx, options)
	if err != nil {
		return err
	}
	if c.postgres() {
		// Counting may take longer than a request. The snapshot begins after the lock is held.
		_, err = tx.ExecContext(ctx, "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; LOCK TABLE row_counts IN SHARE ROW EXCLUSIVE MODE")
	}
	if err == nil {
		err = do(tx)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
