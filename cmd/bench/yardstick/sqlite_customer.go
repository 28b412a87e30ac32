package yardstick

import (
	"context"
	"database/sql"
	"errors"
	"time"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

func (s *sqlite) customers(ctx context.Context, c *caller, pattern string, size int, offset int64) ([]*customer, int64, error) {
	var total int64
	if err := s.countCustomers.QueryRowContext(ctx, c.Store.ID, pattern).Scan(&total); err != nil {
		return nil, 0, err
	}
	customers, err := readSQLiteCustomers(ctx, s.pageCustomers, c, size, c.Store.ID, pattern, size, offset)
	return customers, total, err
}

func readSQLiteCustomers(ctx context.Context, statement *sql.Stmt, c *caller, size int, args ...any) ([]*customer, error) {
	rows, err := statement.QueryContext(ctx, args...) //nolint:rowserrcheck // readCustomers does.
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	return readCustomers(rows, c, size, milliseconds)
}

func (s *sqlite) create(ctx context.Context, c *caller, in *newCustomer) (made *customer, created bool, err error) {
	for range attempts {
		made, created, err = s.createOnce(ctx, c, in)
		if lost, ok := errors.AsType[*driver.Error](err); !ok || lost.Code() != sqlite3.SQLITE_CONSTRAINT_UNIQUE {
			break
		}
	}
	return made, created, err
}

func (s *sqlite) createOnce(ctx context.Context, c *caller, in *newCustomer) (*customer, bool, error) {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	known, err := readSQLiteCustomers(ctx, tx.StmtContext(ctx, s.known), c, 0, c.Store.ID, in.Email, in.Phone)
	switch {
	case err != nil:
		return nil, false, err
	case len(known) == 1:
		return known[0], false, tx.Commit()
	case len(known) > 1:
		return nil, false, errConflict
	}
	r, err := in.record(c, time.Now())
	if err != nil {
		return nil, false, err
	}
	at := r.at.UnixMilli()
	if _, err := tx.StmtContext(ctx, s.insertCustomer).ExecContext(ctx,
		r.id, c.Store.ID, in.Name, in.Email, in.Phone, r.search, at); err != nil {
		return nil, false, err
	}
	if _, err := tx.StmtContext(ctx, s.insertEntry).ExecContext(ctx, r.entry, c.Store.ID, actorType, c.ID, c.Name,
		customerEvent, resourceType, r.id, r.changes, at); err != nil {
		return nil, false, err
	}
	if _, err := tx.StmtContext(ctx, s.insertEvent).ExecContext(ctx,
		r.event, c.Store.ID, customerEvent, r.envelope, at); err != nil {
		return nil, false, err
	}
	return r.made, true, tx.Commit()
}
