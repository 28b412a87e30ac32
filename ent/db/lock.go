package db

import (
	"strings"

	"entgo.io/ent/dialect/sql"
)

// RowLock makes a SELECT lock its rows until the transaction ends; "" on SQLite, which has a single writer. tables, such as "
// OF o", limits it to the rows of those tables. Others can still insert rows that refer to a locked row: creating a key, which
// locks the store's row, does not delay its new orders.
func (d *DB) RowLock(tables string) string {
	if d.dialect.rowLock == "" {
		return ""
	}
	return d.dialect.rowLock + tables
}

// SkipLocked is an option of Lock that leaves out rows that another transaction has locked.
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
