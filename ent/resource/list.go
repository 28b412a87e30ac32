package resource

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
	"unicode"

	"go.storefront.example/ent/db"
)

// Lists reads lists and their totals. Goroutines may share it.
type Lists struct {
	// Querier is the pool for reading.
	Querier Querier
	// Dialect is Postgres or SQLite.
	Dialect *Dialect
}

// list is the SQL of one kind of list.
type list struct {
	table   string
	alias   string // by which the columns, the joins and the order name the table
	columns string
	joins   string
	order   string // of the rows that the joins add to a resource
}

// filter gathers the conditions of a list and their arguments in order.
type filter struct {
	args  db.Args
	where string
	// counted are those of the conditions that the counts can be asked for.
	counted string
	// uncounted is whether there are others, so that the rows must be counted one by one.
	uncounted bool
	// text is whether one of these is a search for a text.
	text bool
	// from is inclusive, to exclusive, both on createdAt.
	from, to *time.Time
}

// facet adds a condition on a column that the counts have too.
func (f *filter) facet(column string, value any) {
	condition := " AND " + column + " = " + f.args.Add(value)
	f.where += condition
	f.counted += condition
}

// and adds a condition that the counts cannot answer.
func (f *filter) and(condition string) {
	f.where += " AND " + condition
	f.uncounted = true
}

// search adds the condition that a text is in a column that an index of trigrams has.
func (f *filter) search(condition string) {
	f.and(condition)
	f.text = true
}

// compared is a column as a search compares it with patterns that have these texts in them. PostgreSQL
// keeps one plan for all texts, and that reads the column's index of trigrams: for a text without a trigram
// all of it, every store's part, and then every row. So such a text is compared with something that the
// index does not have.
func (l Lists) compared(column string, texts ...string) string {
	if l.Dialect.trigrams && slices.ContainsFunc(texts, hasNoTrigram) {
		return "(" + column + " || '')"
	}
	return column
}

// hasNoTrigram reports whether pg_trgm finds no trigram that each text with this one in it has. It takes
// words alone, each with two spaces before it and one after it, but for those at an end of the text, which
// may go on.
func hasNoTrigram(text string) bool {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	length := 0
	for i, r := range text {
		switch {
		case inWord(r):
			if length == 0 && i > 0 {
				length = 2
			}
			length++
		case length > 0:
			if length++; length < 3 {
				length = 0
			}
		}
		if length >= 3 {
			return false
		}
	}
	return true
}

// read reads a page of the store's rows that match, newest first, and sets the total to how many
// match in all: both at one moment, because one statement reads them. scan takes one row, whose
// first column is the total.
func (l Lists) read(ctx context.Context, what list, f *filter, page Page, total *int64, scan func(*sql.Rows) error) error {
	s := &statement{filter: f, list: what, dialect: l.Dialect}
	build := s.scannedPage
	if !f.uncounted && s.hasWholeDay() {
		build = s.countedPage
	}
	return each(ctx, l.Querier, build(page), f.args, func(rows *sql.Rows) error {
		if *total == 0 { // the first row, which holds the total alone if the page is empty
			if id, err := first(rows, total); id == nil || err != nil {
				return err
			}
		}
		return scan(rows)
	})
}

// first reads the total and the id of a row, which is nil if the page is empty.
func first(rows *sql.Rows, total *int64) (id any, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	into := make([]any, len(columns))
	for i := range into {
		into[i] = new(any)
	}
	into[0], into[1] = total, &id
	err = rows.Scan(into...)
	return id, err
}

// each runs a query and calls scan for each of its rows.
func each(ctx context.Context, q Querier, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
