//go:build atlas

// Package drift compares a database's tables with ent/schema and returns the SQL that would add
// what is missing. It covers only what ent models.
package drift

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"

	atlas "ariga.io/atlas/sql/schema"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent/migrate"
)

var (
	// foreignKeys matches a pragma that has no effect in a transaction; package db runs it before.
	foreignKeys = regexp.MustCompile(`(?m)^PRAGMA foreign_keys = .*\n?`)
	// rebuiltTable matches the first statement with which Atlas rebuilds a SQLite table.
	rebuiltTable = regexp.MustCompile("(?m)^CREATE TABLE `new_(\\w+)`")
	// writing serialises calls, because ent keeps its tables in package variables and changes them.
	writing sync.Mutex
)

// Missing returns, without running it, the SQL that adds what the tables lack; "" means nothing. It drops no column and no
// index. It fails if a table would have to be rebuilt.
func Missing(ctx context.Context, d *db.DB) (string, error) {
	writing.Lock()
	defer writing.Unlock()
	var missing bytes.Buffer
	err := migrate.NewSchema(entsql.OpenDB(d.Dialect(), d.Writer())).
		WriteTo(ctx, &missing, schema.WithIndent("\t"), schema.WithDiffHook(hideUnmodelled))
	if err != nil {
		return "", err
	}
	text := foreignKeys.ReplaceAll(missing.Bytes(), nil)
	if rebuilt := rebuiltTable.FindSubmatch(text); rebuilt != nil {
		return "", fmt.Errorf("the table %s would be built anew, without its triggers and without the store in its keys: write this "+
			"migration by hand", rebuilt[1])
	}
	return string(bytes.ReplaceAll(text, []byte("\n\t "), []byte("\n\t"))), nil
}

// hideUnmodelled hides from Atlas what ent does not model: the store_id in keys, and the constraint that refuses reserved ids,
// a trigger on SQLite.
func hideUnmodelled(next schema.Differ) schema.Differ {
	return schema.DiffFunc(func(current, desired *atlas.Schema) ([]atlas.Change, error) {
		for _, t := range current.Tables {
			hideStore(t)
			t.Attrs = slices.DeleteFunc(t.Attrs, func(a atlas.Attr) bool {
				check, ok := a.(*atlas.Check)
				return ok && check.Name == "reserved_id"
			})
		}
		changes, err := next.Diff(current, desired)
		for _, change := range changes {
			if table, ok := change.(*atlas.ModifyTable); ok {
				addPlainly(table)
			}
		}
		return changes, err
	})
}

// addPlainly makes the defaults of new columns literals, which they are in ent/schema, and hides the indexes of new columns, which
// are changes of their own. Otherwise Atlas would rebuild the SQLite table, without the triggers that count rows.
func addPlainly(table *atlas.ModifyTable) {
	for _, change := range table.Changes {
		if added, ok := change.(*atlas.AddColumn); ok {
			added.C.Indexes = nil
			if value, ok := added.C.Default.(*atlas.RawExpr); ok {
				added.C.Default = &atlas.Literal{V: value.X}
			}
		}
	}
}

const storeColumn = "store_id"

// hideStore removes store_id from each primary or foreign key of two columns.
func hideStore(t *atlas.Table) {
	if key := t.PrimaryKey; key != nil && len(key.Parts) == 2 && key.Parts[1].C != nil && key.Parts[1].C.Name == storeColumn {
		key.Parts = key.Parts[:1]
	}
	for _, f := range t.ForeignKeys {
		if len(f.Columns) == 2 && f.Columns[1].Name == storeColumn {
			f.Columns, f.RefColumns = f.Columns[:1], f.RefColumns[:1]
			if f.Columns[0].Type.Null {
				// ent models ON DELETE SET NULL for this key. A distributed database rejects it, and nobody deletes the rows
				// that the key refers to.
				f.OnDelete = atlas.SetNull
			}
		}
	}
}
