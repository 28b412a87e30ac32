package db

import (
	"strings"

	"entgo.io/ent/dialect/sql"
)

// RowLock returns the clause that makes a SELECT lock its rows until the transaction ends. On SQLite it returns "", because
// a single writer needs no row locks. The argument tables, such as " OF o", limits the lock to the rows of those tables;
// with "" the clause locks the rows of all tables. Other transactions can still insert rows that refer to a locked row. So
// creating a key, which locks the store's row, does not delay the store's new orders.
func (d *DB) RowLock(tables string) string {
	if d.dialect.rowLock == "" {
		return ""
	}
	return d.dialect.rowLock + tables
}

// SkipLocked is an option of Lock: the query leaves out rows that another transaction has locked, and does not wait for
// them.
const SkipLocked = " SKIP LOCKED"

// Lock makes the query q lock its rows until the transaction ends (RowLock). options may have SkipLocked.
func Lock[Q interface {
	ForUpdate(opts ...sql.LockOption) Q
}](d *DB, q Q, options ...string) Q {
	if clause := d.RowLock(strings.Join(options, "")); clause != "" {
		return q.ForUpdate(sql.WithLockClause(clause))
	}
	return q
}
