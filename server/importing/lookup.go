package importing

import (
	"context"
	"encoding/json"
	"fmt"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
)

// What a batch looks for is one argument of a statement, an array on PostgreSQL and JSON on SQLite, so
// that the statement's text is the same for each batch. With an argument for each value the database
// takes longer to read the statement than to look the values up.

// listOf is the list of values as an argument, and the table that it stands for, whose column is v.
func listOf[V any](database string, values []V, parameter string) (list, table string) {
	if database == dialect.Postgres {
		list, kind := arrayOf(values)
		return list, "(SELECT unnest(" + parameter + "::" + kind + ") AS v)"
	}
	text, _ := json.Marshal(values) // texts and ids
	return string(text), "(SELECT value AS v FROM json_each(" + parameter + "))"
}

// among is the condition that an id is one of the values.
func among(column string, values []uuid.UUID) func(*sql.Selector) {
	return func(s *sql.Selector) {
		s.Where(sql.P(func(b *sql.Builder) {
			b.Ident(s.C(column))
			if s.Dialect() == dialect.Postgres {
				array, kind := arrayOf(values)
				b.WriteString(" = ANY(").Arg(array).WriteString("::" + kind + ")")
				return
			}
			list, _ := listOf(s.Dialect(), values, "")
			b.WriteString(" IN (SELECT value FROM json_each(").Arg(list).WriteString("))")
		}))
	}
}

// holding maps those of the texts that a column of the store's rows holds to the rows' ids. The
// column is the second one of a unique index, after the store.
func (b *batch) holding(ctx context.Context, tx *ent.Tx, table, column string, texts []string) (map[string]uuid.UUID, error) {
	held := map[string]uuid.UUID{}
	if len(texts) == 0 {
		return held, nil
	}
	list, of := listOf(b.db.Dialect(), texts, "$2")
	query := "SELECT id, " + column + " FROM " + table + " WHERE store_id = $1 AND " + column + " IN " + of
	if b.db.Dialect() == dialect.Postgres {
		// A look-up for each text. Asked for all at once, PostgreSQL would read the whole store as long as
		// it has no statistics of a table that fills up.
		query = "SELECT r.id, v FROM " + of + " t CROSS JOIN LATERAL (SELECT id FROM " + table + " WHERE store_id = $1 AND " + column + " = v LIMIT 1) r"
	}
	rows, err := tx.QueryContext(ctx, query, b.t.ID, list)
	if err != nil {
		return nil, fmt.Errorf("look for what identifies the %s: %w", table, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id uuid.UUID
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, fmt.Errorf("look for what identifies the %s: %w", table, err)
		}
		held[text] = id
	}
	return held, rows.Err()
}
