// Package resource reads the resources of the API: for each one it has the SQL, the filters of its list, and the conversion of
// a row to a message. Handlers answer with these messages and events carry them. The package writes nothing. It also folds text
// for searches.
//
// Statements of the API's reads are written by hand, and each connection prepares them once, because building such a statement
// takes longer than running it. Every statement names the store's id and runs on both PostgreSQL and SQLite.
package resource

import (
	"context"
	"database/sql"
	"errors"
)

// ErrNotFound means that the store has no row with this id.
var ErrNotFound = errors.New("not found")

// Querier runs a query: a *sql.DB, or a transaction whose changes the query must see.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Page is a part of a list: at most Size rows, beginning with row Offset. The zero value is empty.
type Page struct {
	Size   int
	Offset int64
}
