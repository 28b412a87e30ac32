// Package postgres holds the migrations of PostgreSQL: SQL files, and in Go what such a file cannot
// express. Once landed, neither is edited.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lib/pq"
)

// StoreKeysVersion is the number of the migration StoreKeys.
const StoreKeysVersion = 9

var (
	// storeTables hold the data of stores, in the order in which their primary keys are replaced.
	storeTables = []string{
		"activity_entries", "cancellations", "customers", "deliveries", "idempotency_keys", "order_items", "orders",
		"outbox", "payment_links", "products", "refused_requests", "resends", "tallies", "webhooks",
	}
	// dayTables are those of them that are partitioned by day, on their ids.
	dayTables = []string{"events", "finished_deliveries"}
	// storeReferences are the foreign keys between them. Every other one refers to stores.
	storeReferences = []reference{
		{"order_items", "order_items_orders_items", "order_id", "orders", "NO ACTION"},
		{"orders", "orders_customers_orders", "customer_id", "customers", "NO ACTION"},
		// The column list spares the store, which cannot be null.
		{"orders", "orders_payment_links_orders", "payment_link_id", "payment_links", "SET NULL (payment_link_id)"},
	}
)

type reference struct{ table, name, column, to, onDelete string }

const (
	keySuffix = "_store_key" // of the unique index that becomes a primary key
	// newSuffix is that of a foreign key until it replaces the old one.
	newSuffix = "_new"
)

// StoreKeys makes the primary keys of what belongs to a store (id, store_id), and the foreign keys
// between such tables two columns wide, so that the tables can be distributed by store. The id comes
// first: releases that look a row up by its id alone, as the one before does, find it by the same
// index, and new rows still go to the end of it.
//
//	build a unique index of each table ──► add and validate each foreign key ──► replace each key
//	     nobody waits                           nobody waits for long               a moment's lock
//
// It scans tables and rewrites none. A step that locks a table waits for the lock for lockWait at
// most, then lets the others pass and tries again. Each step looks first at what there is: a
// migration that dies half-way goes on where it was, when it is run again.
func StoreKeys(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	m := storeKeys{conn}
	// A limit that the server sets for its users would end the building of a large index.
	if err := m.exec(ctx, "SET statement_timeout = 0; SET lock_timeout = 0"); err != nil {
		return err
	}
	return m.run(ctx)
}

type storeKeys struct{ conn *sql.Conn }

func (m storeKeys) run(ctx context.Context) error {
	for _, table := range storeTables {
		if err := m.buildIndex(ctx, table); err != nil {
			return fmt.Errorf("index %s by id and store: %w", table, err)
		}
	}
	for _, table := range dayTables {
		days, err := m.days(ctx, table)
		if err != nil {
			return err
		}
		for _, day := range days {
			if err := m.buildIndex(ctx, day); err != nil {
				return fmt.Errorf("index %s by id and store: %w", day, err)
			}
		}
	}
	for _, r := range storeReferences {
		if err := m.replaceReference(ctx, r); err != nil {
			return fmt.Errorf("replace the foreign key %s: %w", r.name, err)
		}
	}
	for _, table := range append(storeTables, dayTables...) {
		if err := m.replaceKey(ctx, table); err != nil {
			return fmt.Errorf("replace the primary key of %s: %w", table, err)
		}
	}
	return nil
}

// days lists the partitions of a table.
func (m storeKeys) days(ctx context.Context, table string) ([]string, error) {
	var names pq.StringArray
	err := m.conn.QueryRowContext(ctx, `SELECT array_agg(c.relname ORDER BY c.relname)
 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass($1)`, table).Scan(&names)
	return names, err
}

// isKeyed reports whether the table's primary key has its store.
func (m storeKeys) isKeyed(ctx context.Context, table string) (bool, error) {
	return m.ask(ctx, `EXISTS (SELECT FROM pg_constraint WHERE conrelid = to_regclass($1) AND contype = 'p' AND cardinality(conkey) = 2)`, table)
}

// buildIndex makes the unique index that is to be a table's primary key, while others write. It
// waits until the transactions that were open before it have ended, and nobody waits for it. The
// remains of one that was interrupted are invalid, and dropped.
func (m storeKeys) buildIndex(ctx context.Context, table string) error {
	keyed, err := m.isKeyed(ctx, table)
	if err != nil || keyed {
		return err
	}
	index := table + keySuffix
	has := func(condition string) (bool, error) {
		return m.ask(ctx, "EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND "+condition+")", index)
	}
	if built, err := has("indisvalid"); err != nil || built {
		return err
	}
	left, err := has("NOT indisvalid")
	if err != nil {
		return err
	}
	if left {
		if err := m.exec(ctx, "DROP INDEX CONCURRENTLY "+index); err != nil {
			return err
		}
	}
	err = m.exec(ctx, "CREATE UNIQUE INDEX CONCURRENTLY "+index+" ON "+table+" (id, store_id)")
	if code(err) == codeUndefinedTable {
		return nil // a worker has dropped a day that was too old
	}
	return err
}

// replaceReference makes a foreign key refer to the id and the store. The old one stays until every
// row is proven to fit the new one.
func (m storeKeys) replaceReference(ctx context.Context, r reference) error {
	has := func(name, condition string) (bool, error) {
		return m.ask(ctx, "EXISTS (SELECT FROM pg_constraint WHERE conrelid = to_regclass($1) AND conname = $2 AND "+condition+")", r.table, name)
	}
	if done, err := has(r.name, "cardinality(conkey) = 2"); err != nil || done {
		return err
	}
	added, err := has(r.name+newSuffix, "true")
	if err != nil {
		return err
	}
	if !added {
		err := m.briefly(ctx, fmt.Sprintf(`ALTER TABLE %[1]s ADD CONSTRAINT %[2]s
 FOREIGN KEY (%[3]s, store_id) REFERENCES %[4]s (id, store_id) ON DELETE %[5]s NOT VALID;`, r.table, r.name+newSuffix, r.column, r.to, r.onDelete))
		if err != nil {
			return err
		}
	}
	valid, err := has(r.name+newSuffix, "convalidated")
	if err != nil {
		return err
	}
	if !valid {
		// It locks out no reader and no writer.
		if err := m.exec(ctx, "ALTER TABLE "+r.table+" VALIDATE CONSTRAINT "+r.name+newSuffix); err != nil {
			return err
		}
	}
	return m.briefly(ctx, fmt.Sprintf(`ALTER TABLE %[1]s DROP CONSTRAINT %[2]s; ALTER TABLE %[1]s RENAME CONSTRAINT %[3]s TO %[2]s;`,
		r.table, r.name, r.name+newSuffix))
}

// replaceKey drops a table's primary key and makes the index that was built the new one.
func (m storeKeys) replaceKey(ctx context.Context, table string) error {
	keyed, err := m.isKeyed(ctx, table)
	if err != nil || keyed {
		return err
	}
	var old string
	err = m.conn.QueryRowContext(ctx, "SELECT conname FROM pg_constraint WHERE conrelid = to_regclass($1) AND contype = 'p'", table).Scan(&old)
	if err != nil {
		return err
	}
	days, err := m.days(ctx, table)
	if err != nil {
		return err
	}
	if days == nil {
		return m.briefly(ctx, fmt.Sprintf("ALTER TABLE %[1]s DROP CONSTRAINT %[2]s, ADD CONSTRAINT %[1]s_pkey PRIMARY KEY USING INDEX %[1]s%[3]s;",
			table, old, keySuffix))
	}
	return m.briefly(ctx, fmt.Sprintf(replaceKeyOfDays, table, old, keySuffix))
}

// replaceKeyOfDays replaces the key of a partitioned table and, in the same transaction, attaches
// the index of each partition. A partition that was made since the indexes were built is of a day to come
// and empty, so its index is made at once. The advisory lock is that under which they are made.
const replaceKeyOfDays = `
 PERFORM pg_advisory_xact_lock(hashtext('partitions'));
 LOCK TABLE %[1]s IN ACCESS EXCLUSIVE MODE;
 ALTER TABLE %[1]s DROP CONSTRAINT %[2]s;
 ALTER TABLE ONLY %[1]s ADD CONSTRAINT %[1]s_pkey PRIMARY KEY (id, store_id);
 FOR day IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '%[1]s'::regclass LOOP
  IF to_regclass(day || '%[3]s') IS NULL THEN
   EXECUTE format('CREATE UNIQUE INDEX %%I ON %%I (id, store_id)', day || '%[3]s', day);
  END IF;
  EXECUTE format('ALTER TABLE %%I ADD CONSTRAINT %%I PRIMARY KEY USING INDEX %%I', day, day || '_pkey', day || '%[3]s');
  EXECUTE format('ALTER INDEX %[1]s_pkey ATTACH PARTITION %%I', day || '_pkey');
 END LOOP;`

const (
	// lockWait is the longest wait for a lock on a table: behind a pending one everybody else waits.
	lockWait = 40 * time.Millisecond
	// briefLimit is how long a step that has locked a table may take, at first; it grows with each
	// try that was too short.
	briefLimit = 100 * time.Millisecond
	// patience is for how long a step is tried again while others use the table.
	patience = 5 * time.Minute
	// leastPause and mostPause bound the pause between two tries, in which the others go on.
	leastPause = 100 * time.Millisecond
	mostPause  = 300 * time.Millisecond
)

const (
	codeUndefinedTable   = "42P01"
	codeLockNotAvailable = "55P03"
	codeQueryCanceled    = "57014"
	codeDeadlock         = "40P01"
)

// briefly runs a PL/pgSQL block that locks tables, as one message and so in one transaction, so that
// the locks wait neither for this process nor for a standby.
func (m storeKeys) briefly(ctx context.Context, block string) error {
	limit := briefLimit
	for begun := time.Now(); ; {
		err := m.exec(ctx, fmt.Sprintf("SET LOCAL synchronous_commit = off; SET LOCAL lock_timeout = %d; SET LOCAL statement_timeout = %d; "+
			"DO $do$ DECLARE day text; BEGIN %s END $do$", lockWait.Milliseconds(), limit.Milliseconds(), block))
		switch code(err) {
		case codeQueryCanceled:
			limit += limit / 2
		case codeLockNotAvailable, codeDeadlock:
		default:
			return err
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("others have used the table for %v; end long transactions and migrate again, "+
				"it goes on where it was: %w", patience, err)
		}
		pause := time.NewTimer(leastPause + rand.N(mostPause-leastPause))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return errors.Join(err, ctx.Err())
		}
	}
}

func (m storeKeys) exec(ctx context.Context, statement string) error {
	_, err := m.conn.ExecContext(ctx, statement)
	return err
}

// ask returns the answer to a condition.
func (m storeKeys) ask(ctx context.Context, condition string, args ...any) (answer bool, err error) {
	err = m.conn.QueryRowContext(ctx, "SELECT "+condition, args...).Scan(&answer)
	return answer, err
}

// code is the SQLSTATE of an error, "" if it has none.
func code(err error) string {
	if failed, ok := errors.AsType[*pq.Error](err); ok {
		return string(failed.Code)
	}
	return ""
}
