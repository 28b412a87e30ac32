// Package count keeps how many rows each store has, by kind, status, type and UTC day of createdAt. So the total of a list,
// and any page of it, cost the same at a thousand rows as at ten million. Package resource reads the counts, in the
// statement that reads the page. A store has a count for each day and one for each 32 days, so that a list adds few of them.
//
//	a change of a row ──► trigger: a row delta (row_deltas) ─► Fold ──► row_counts
//	                      in the transaction of the change       every second: the counts of a day and of 32 days
//
// Triggers of the database write the row deltas, not hooks of the program. So the counts include changes by an older release
// on this schema, by bulk loads and by statements written by hand, and they cost no round trip. A delta is a new row, so
// that writers of one store never wait for each other; on SQLite, which has a single writer, the trigger changes the counts
// at once. Readers add the deltas to the counts, so Fold changes no total. Every server and worker folds; while none runs,
// deltas accumulate and totals stay right.
//
// Recount counts a store's rows again, because a partial restore, a disabled trigger or a TRUNCATE can make the counts wrong.
// It deletes the counts and deltas and counts the rows in one snapshot. A row and its delta come from the same transaction: if
// the snapshot has them, the row is counted and the delta deleted; if not, the delta stays and is folded later. Fold waits for
// Recount; writers and lists do not.
package count

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
)

const (
	foldBatch = 5000
	// interval is short, because every list must add the row deltas to the counts.
	interval = time.Second
	// errorPause is how long Run waits after a database error.
	errorPause = 10 * time.Second
	// foldTimeout keeps a server that vanished silently behind a proxy from blocking Run.
	foldTimeout = 15 * time.Second
)

type dialect struct {
	lists *resource.Dialect
	// fold folds row deltas of all stores, foldStore those of one. A dialect has at most one of them; the other is "".
	fold, foldStore string
	day             string // SQL for the day of a row's created_at, as in the triggers
	// lock, the first statement of Recount's transaction, keeps other processes from folding. On SQLite it is "", because no
	// other transaction can write.
	lock      string
	isolation sql.IsolationLevel
	// tables are those from which Recount deletes a store's counts and row deltas.
	tables []string
}

var (
	//go:embed count.sql
	countSQL   string
	statements = db.Statements(countSQL)

	postgres = &dialect{
		lists: resource.Postgres,
		fold:  foldStatement("take"),
		day:   "(created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01'",
		// Counting may take longer than a request. LOCK comes before the first query, so the snapshot has every change that was
		// committed before.
		lock:      "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; LOCK TABLE row_counts IN SHARE ROW EXCLUSIVE MODE",
		isolation: sql.LevelRepeatableRead,
		tables:    []string{"row_counts", "row_deltas"},
	}
	distributed = func() *dialect {
		d := *postgres
		d.fold, d.foldStore = "", foldStatement("take of store")
		return &d
	}()
	sqlite = &dialect{
		lists:  resource.SQLite,
		day:    "created_at / 86400000 - (created_at % 86400000 < 0)",
		tables: []string{"row_counts"}, // not row_deltas, which is a view on SQLite
	}
)

// foldStatement adds row deltas to the counts and returns their number. take is the statement in count.sql that deletes and
// returns them.
func foldStatement(take string) string {
	return "WITH taken AS (" + statements[take] + "), added AS (" + statements["add"] + ") SELECT count(*) FROM taken"
}

// Counts reads and maintains the counts of a database's rows. Goroutines may share it.
type Counts struct {
	db      *db.DB
	dialect *dialect
	// errorPause and foldTimeout are the constants of these names, except in tests.
	errorPause, foldTimeout time.Duration
}

// New returns the Counts of the database d.
func New(d *db.DB) *Counts {
	c := &Counts{db: d, dialect: distributed, errorPause: errorPause, foldTimeout: foldTimeout}
	if !d.Distributed() {
		c.dialect = db.ByDialect(d, postgres, sqlite)
	}
	return c
}

// Lists queries the database where the rows of the context's store are.
func (c *Counts) Lists(ctx context.Context) resource.Lists {
	return resource.Lists{Querier: c.db.ForStore(ctx).Reader(), Dialect: c.dialect.lists}
}

// Run folds until the context ends. Several processes may call it. On SQLite it returns immediately, because the triggers
// change the counts themselves.
func (c *Counts) Run(ctx context.Context, log *slog.Logger) {
	for c.dialect != sqlite && ctx.Err() == nil {
		start := time.Now()
		limited, cancel := context.WithTimeout(ctx, c.foldTimeout)
		folded, err := c.Fold(limited)
		cancel()
		wait := interval
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.WarnContext(ctx, "keep the counts of rows", "error", err)
			wait = c.errorPause
		case folded >= foldBatch:
			wait = time.Since(start) // leave other writers as much time as the fold took
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// PendingDeltas returns how many row deltas no process has folded yet, at most limit.
func (c *Counts) PendingDeltas(ctx context.Context, limit int) (n int, err error) {
	err = c.db.Reader().QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM row_deltas LIMIT $1) d", limit).Scan(&n)
	return n, err
}

// Fold adds at most foldBatch row deltas to the counts and returns how many; on SQLite, 0. It skips those that another process
// is folding. It adds in the order of the counts' keys, so that two processes never deadlock.
func (c *Counts) Fold(ctx context.Context) (n int, err error) {
	switch {
	case c.dialect.fold != "":
		err = c.db.Writer().QueryRowContext(ctx, c.dialect.fold, foldBatch).Scan(&n)
	case c.dialect.foldStore != "":
		n, err = c.foldStores(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("fold the counts: %w", err)
	}
	return n, nil
}

// foldStores folds at most foldBatch row deltas of each store.
func (c *Counts) foldStores(ctx context.Context) (n int, err error) {
	var stores []uuid.UUID
	for row := range db.Rows(ctx, c.db.Reader(), statements["stores"]) {
		var store uuid.UUID
		if err := row.Scan(&store); err != nil {
			return 0, err
		}
		stores = append(stores, store)
	}
	for _, store := range stores {
		var folded int
		node := c.db.ForStore(tenant.With(ctx, tenant.Store{ID: store}, tenant.Actor{}))
		if err := node.Writer().QueryRowContext(ctx, c.dialect.foldStore, foldBatch, store).Scan(&folded); err != nil {
			return n, err
		}
		n += folded
	}
	return n, nil
}
