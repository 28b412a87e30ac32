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

// Lists reads pages of lists and their totals. Goroutines may share it.
type Lists struct {
	// Querier is the pool for reading.
	Querier Querier
	// Dialect is Postgres or SQLite.
	Dialect *Dialect
}

// list has the parts of a list's SQL that depend on the resource.
type list struct {
	table   string
	alias   string // the table's name in columns, joins and order
	columns string
	joins   string
	order   string // further ORDER BY columns, which sort the joined rows of one resource; "" if there is one row
}

// filter collects the conditions of a list, and their arguments in order.
type filter struct {
	args  db.Args
	where string
	// countCondition has the conditions on columns by which package count counts, such as the status.
	countCondition string
	// mustScan is true if where has conditions on columns by which package count does not count. Then the total cannot come
	// from the counts.
	mustScan bool
	// text is true if a condition searches for a text.
	text bool
	// from and to limit createdAt: from is inclusive, to exclusive, and nil means no limit.
	from, to *time.Time
}

// facet adds the condition that a column of the rows has this value. The column must be one by which package count counts,
// such as the status, because the same condition also selects the counts.
func (f *filter) facet(column string, value any) {
	condition := " AND " + column + " = " + f.args.Add(value)
	f.where += condition
	f.countCondition += condition
}

// f.and adds a condition for which package count has no counts, so that the list must count its rows.
func (f *filter) and(condition string) {
	f.where += " AND " + condition
	f.mustScan = true
}

// search adds a condition on a text, for whose column there is a trigram index.
func (f *filter) search(condition string) {
	f.and(condition)
	f.text = true
}

// searchColumn returns the SQL expression that a search compares with patterns that contain the texts. Usually this is the name
// of the column. If one of the texts has no trigram, PostgreSQL gets another expression with the same value, for which it cannot
// use the column's trigram index. With the index it would read all entries, of all stores, because it keeps one plan for all
// texts.
func (l Lists) searchColumn(column string, texts ...string) string {
	if l.Dialect.trigrams && slices.ContainsFunc(texts, hasNoTrigram) {
		return "(" + column + " || '')"
	}
	return column
}

// hasNoTrigram reports whether a search for the text cannot use the trigram index, because pg_trgm finds no trigram (three
// characters) in the text. pg_trgm puts spaces around a word, but only on a side where the text shows that the word ends
// there. So " ab" has a trigram. "ab" has none, because the search also finds it in the middle of longer words.
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

// read reads a page of the rows that match f, newest first, and sets total to the number of all matching rows. One statement
// reads both, so that they agree. scan scans one row, whose first column is the total.
func (l Lists) read(ctx context.Context, source list, f *filter, page Page, total *int64, scan func(*sql.Rows) error) error {
	s := &statement{filter: f, list: source, dialect: l.Dialect}
	build := s.scannedPage
	if !f.mustScan && s.hasWholeDay() {
		build = s.countedPage
	}
	return forEachRow(ctx, l.Querier, build(page), f.args, func(rows *sql.Rows) error {
		if *total == 0 { // an empty page has one row, which holds only the total
			if id, err := scanTotal(rows, total); id == nil || err != nil {
				return err
			}
		}
		return scan(rows)
	})
}

// scanTotal reads a row's first two columns, the total and the id; the id is nil if the page is empty.
func scanTotal(rows *sql.Rows, total *int64) (id any, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	dest := make([]any, len(columns))
	for i := range dest {
		dest[i] = new(any)
	}
	dest[0], dest[1] = total, &id
	err = rows.Scan(dest...)
	return id, err
}

// forEachRow runs a query and calls scan for each row of the result.
func forEachRow(ctx context.Context, q Querier, query string, args []any, scan func(*sql.Rows) error) error {
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
