// Package count keeps how many rows each store has, by kind, status, type and UTC day of createdAt,
// so that the total of a list and the place of any page cost the same at a thousand rows as at ten
// million. Package resource reads the counts, in the statement that reads the page.
//
//	a change of a row ──► trigger: a difference (row_deltas) ──► Fold ──► row_counts
//	                      in the transaction of the change       every second: a day, and 32 days
//
// Triggers write the differences, and not hooks of the program. So they include the changes of an older
// release that runs on the schema, of bulk loads and of statements written by hand, and cost no round trip. A difference is a new row, so that writers of one store never wait for each other;
// on SQLite, which has a single writer, the trigger adds it to the counts at once. Readers add the
// differences to the counts, so Fold changes no total. Every server and every worker folds; while none
// runs, differences gather and totals stay right.
//
// Recount counts a store's rows again, where only a partial restore, a disabled trigger or a TRUNCATE can
// have made the counts wrong. It deletes the counts and differences and counts the rows in one snapshot. A
// row and its difference come from the same transaction: if the snapshot has them, the row is counted and
// the difference deleted; if not, the difference stays and is folded later. Fold waits for it; writers and
// lists do not.
package count

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
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
	// foldTimeout is how long Keep waits for the database: a server behind a proxy may vanish without a word.
	foldTimeout = 15 * time.Second
)

// Counts keeps the counts of a database. Goroutines may share it.
type Counts struct{ db *db.DB }

// On returns the counts of the database.
func On(s *db.DB) *Counts { return &Counts{s} }

// Lists returns a reader of lists.
func (c *Counts) Lists() resource.Lists {
	return resource.Lists{Querier: c.db.Reader(), Postgres: c.postgres()}
}

func (c *Counts) postgres() bool { return c.db.Dialect() == dialect.Postgres }

// Keep folds until the context ends, or returns at once where there is nothing to fold. Any number of
// processes may do so at once.
func (c *Counts) Keep(ctx context.Context, log *slog.Logger) {
	for c.postgres() && ctx.Err() == nil {
		start := time.Now()
		limited, cancel := context.WithTimeout(ctx, foldTimeout)
		folded, err := c.Fold(limited)
		cancel()
		wait := interval
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.WarnContext(ctx, "keep the counts of rows", "error", err)
			wait = errorPause
		case folded == foldBatch:
			wait = time.Since(start) // others get as much time
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
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
