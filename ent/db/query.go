package db

import (
	"context"
	"database/sql"
	"iter"
)

// Querier runs a query: a *sql.DB, or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Row is a row of Rows. The error of a query that fails, at once or half-way, is that of its last row.
type Row struct {
	rows *sql.Rows
	err  error
}

// Scan copies the columns of the row into dest.
func (r Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.rows.Scan(dest...)
}

// Rows runs a query when it is ranged over. As with sql.Row, Scan returns the query's error: whoever scans
// every row misses none.
func Rows(ctx context.Context, on Querier, query string, args ...any) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		rows, err := on.QueryContext(ctx, query, args...)
		if err != nil {
			yield(Row{err: err})
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			if !yield(Row{rows: rows}) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Row{err: err})
		}
	}
}
