package importing

import (
	"context"
	"encoding/json"
	"fmt"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
)

// The values that a batch looks up are one argument of a statement, JSON, so that the statement's text is the
// same for each batch. With one argument per value, parsing the statement takes longer than looking up the values.

// listOf returns the values as an argument, and the SQL of a table that has them in its column v.
func listOf[V string | uuid.UUID](database string, values []V, parameter string) (list, table string) {
	text, _ := json.Marshal(values) // texts and ids
	if database == dialect.Postgres {
		kind := "text"
		if _, ids := any(values).([]uuid.UUID); ids {
			kind = "uuid"
		}
		return string(text), "(SELECT v::" + kind + " FROM jsonb_array_elements_text(" + parameter + "::jsonb) v)"
	}
	return string(text), "(SELECT value AS v FROM json_each(" + parameter + "))"
}

// among is the condition that an id is one of the values.
func among(column string, values []uuid.UUID) func(*sql.Selector) {
	return func(s *sql.Selector) {
		s.Where(sql.P(func(b *sql.Builder) {
			list, _ := json.Marshal(values) // ids
			b.Ident(s.C(column))
			if s.Dialect() == dialect.Postgres {
				b.WriteString(" = ANY(ARRAY(SELECT v::uuid FROM jsonb_array_elements_text(").Arg(string(list)).WriteString("::jsonb) v))")
				return
			}
			b.WriteString(" IN (SELECT value FROM json_each(").Arg(string(list)).WriteString("))")
		}))
	}
}

// holding maps texts to the ids of the store's rows that have them in a column. The column is the second
// of a unique index, after the store.
func (b *batch) holding(ctx context.Context, tx *ent.Tx, table, column string, texts []string) (map[string]uuid.UUID, error) {
	held := map[string]uuid.UUID{}
	if len(texts) == 0 {
		return held, nil
	}
	list, of := listOf(b.db.Dialect(), texts, "$2")
	query := "SELECT id, " + column + " FROM " + table + " WHERE store_id = $1 AND " + column + " IN " + of
	if b.db.Dialect() == dialect.Postgres {
		// One look-up per text: with a single condition for all, PostgreSQL would read all rows of the store
		// while it has no statistics of a growing table.
		query = "SELECT r.id, v FROM " + of + " t CROSS JOIN LATERAL (SELECT id FROM " + table + " WHERE store_id = $1 AND " + column +
			" = v LIMIT 1) r"
	}
	for row := range db.Rows(ctx, tx, query, b.t.ID, list) {
		var id uuid.UUID
		var text string
		if err := row.Scan(&id, &text); err != nil {
			return nil, fmt.Errorf("look for what identifies the %s: %w", table, err)
		}
		held[text] = id
	}
	return held, nil
}
