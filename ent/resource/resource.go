// Package resource reads what the API shows: for each noun its SQL, the filters of its list, and
// the message that a row becomes. Handlers answer with these messages and events carry them. The
// package writes nothing. It also folds text for searches.
//
// Reads that every API call pays for are statements written by hand, which a connection prepares
// once: building such a statement takes longer than the database takes to answer it. Every
// statement carries the store's id and runs on PostgreSQL and SQLite alike.
package resource

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
)

// ErrNotFound means that the store has no such row.
var ErrNotFound = errors.New("not found")

// Querier runs a query: a *sql.DB, or a transaction whose own changes the read must see.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Page is a part of a list: Size rows from the row Offset on. The zero value is empty.
type Page struct {
	Size   int
	Offset int64
}

// filter gathers the conditions of a statement and their arguments in order.
type filter struct {
	where []byte
	args  []any
}

// and adds a condition; its last part is a comparison whose right side is the argument.
func (f *filter) and(comparison string, arg any) {
	if len(f.args) > 0 {
		f.where = append(f.where, " AND "...)
	}
	f.where = append(f.where, comparison...)
	f.where = append(f.where, ' ')
	f.args = append(f.args, arg)
	f.where = appendParameter(f.where, len(f.args))
}

// limit is the end of a statement that lists the page. The size stands in the text, and the offset
// is the result of a query: given either as a plain parameter, PostgreSQL would expect a plan for
// each page to be cheaper than one for all of them, and plan the statement anew at every call.
func (f *filter) limit(page Page) string {
	text := " LIMIT " + strconv.Itoa(page.Size)
	if page.Offset == 0 {
		return text
	}
	f.args = append(f.args, page.Offset)
	return text + " OFFSET (SELECT CAST(" + string(appendParameter(nil, len(f.args))) + " AS bigint))"
}

func appendParameter(b []byte, n int) []byte {
	return strconv.AppendInt(append(b, '$'), int64(n), 10)
}

// count runs a statement that returns one number.
func count(ctx context.Context, q Querier, query string, args ...any) (int64, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var n int64
	if rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return 0, err
		}
	}
	return n, errors.Join(rows.Err(), rows.Close())
}
