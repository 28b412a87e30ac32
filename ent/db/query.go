package db

import (
	"context"
	"database/sql"
	"iter"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Querier is a *sql.DB, or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Args collects the arguments of a statement that is built from parts.
type Args []any

// Add returns the argument's placeholder, such as $3.
func (a *Args) Add(value any) string {
	*a = append(*a, value)
	return "$" + strconv.Itoa(len(*a))
}

// AddIDs returns the placeholders as a list for IN.
func (a *Args) AddIDs(ids []uuid.UUID) string {
	placeholders := make([]string, len(ids))
	for i, id := range ids {
		placeholders[i] = a.Add(id)
	}
	return strings.Join(placeholders, ", ")
}

// Row is one row that Rows yields.
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

// Rows yields the rows of a query. The last row's Scan returns the query's error, as with sql.Row, so a loop that checks every
// Scan misses none.
func Rows(ctx context.Context, q Querier, query string, args ...any) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		rows, err := q.QueryContext(ctx, query, args...)
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
