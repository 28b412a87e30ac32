package db

import (
	"context"
	"database/sql/driver"
	"time"

	"go.opentelemetry.io/otel/trace"
)

type transaction struct {
	ctx   context.Context // of Begin
	inner driver.Tx
	conn  *conn
}

// Commit implements driver.Tx.
func (t *transaction) Commit() error {
	t.conn.inTx = false
	t.conn.observe(tripCommit)
	trip := t.conn.begin(t.ctx, tripCommit)
	defer t.conn.bound(t.ctx)()
	err := t.conn.judge(t.inner.Commit())
	end(trip, err)
	return err
}

// Rollback implements driver.Tx.
func (t *transaction) Rollback() error {
	t.conn.inTx = false
	t.conn.observe(tripRollback)
	trip := t.conn.begin(t.ctx, tripRollback)
	defer t.conn.bound(t.ctx)()
	err := t.inner.Rollback()
	end(trip, err)
	return err
}

// rows is the result of a query; its statement may run again once it is closed.
type rows struct {
	driver.Rows
	conn      *conn
	statement *statement // nil when the driver ran the query by itself
	ctx       context.Context
	trip      trace.Span // ends when the rows have been read
	over      func()     // called then
	closed    bool
	// times are the columns that SQLite stores as integers but that are times.
	times []int
}

func (c *conn) rows(ctx context.Context, inner driver.Rows, s *statement) *rows {
	c.open++
	r := &rows{Rows: inner, conn: c, statement: s, ctx: ctx}
	if typed, ok := inner.(driver.RowsColumnTypeDatabaseTypeName); ok && !c.remote {
		for i := range inner.Columns() {
			if typed.ColumnTypeDatabaseTypeName(i) == "DATETIME" {
				r.times = append(r.times, i)
			}
		}
	}
	return r
}

// Next implements driver.Rows. The driver itself reads a small number of milliseconds as seconds,
// which moves dates before September 2001 by millennia.
func (r *rows) Next(dest []driver.Value) error {
	if err := r.Rows.Next(dest); err != nil {
		return r.conn.judge(err)
	}
	for _, i := range r.times {
		if at, ok := dest[i].(int64); ok {
			dest[i] = time.UnixMilli(at).UTC()
		}
	}
	return nil
}

// Close implements driver.Rows.
func (r *rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.conn.judge(r.Rows.Close())
	r.over()
	r.conn.open--
	r.conn.abandon(r.ctx)
	end(r.trip, err)
	if r.statement != nil {
		r.conn.release(r.statement)
	}
	return err
}
