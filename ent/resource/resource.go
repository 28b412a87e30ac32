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
