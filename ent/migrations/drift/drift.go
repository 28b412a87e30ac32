// Package drift compares a database's tables with ent/schema and returns the SQL that would add
// what is missing. It covers only what ent models.
package drift

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"sync"

	atlas "ariga.io/atlas/sql/schema"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent/migrate"
)

var (
	// foreignKeys cannot be turned off in a transaction; the store does it before.
	foreignKeys = regexp.MustCompile(`(?m)^PRAGMA foreign_keys = .*\n?`)
	// rebuiltTable is how Atlas begins to build a table of SQLite anew.
	rebuiltTable = regexp.MustCompile("(?m)^CREATE TABLE `new_(\\w+)`")
	// writing serialises calls: ent sets its tables up in package variables.
	writing sync.Mutex
)

// Missing returns the statements that bring the store's tables to the schema; it is empty when
// nothing is missing. It changes nothing, and never drops a column or an index. It is an error if a table would be built anew.
func Missing(ctx context.Context, s *db.DB) (string, error) {
	writing.Lock()
	defer writing.Unlock()
	var missing bytes.Buffer
	err := migrate.NewSchema(entsql.OpenDB(s.Dialect(), s.Writer())).
		WriteTo(ctx, &missing, schema.WithIndent("\t"), schema.WithDiffHook(asModelled))
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

// asModelled hides what ent does not model: the store in the keys of what belongs to one.
func asModelled(next schema.Differ) schema.Differ {
	return schema.DiffFunc(func(current, desired *atlas.Schema) ([]atlas.Change, error) {
		for _, t := range current.Tables {
			hideStore(t)
		}
		changes, err := next.Diff(current, desired)
		for _, change := range changes {
			if of, is := change.(*atlas.ModifyTable); is {
				constantDefaults(of)
			}
		}
		return changes, err
	})
}

// constantDefaults makes the defaults of new columns literals, which is what ent's defaults are. For an expression Atlas would build
// SQLite's table anew, as ent models it: without its triggers, which keep counts, and without the store in its keys.
func constantDefaults(of *atlas.ModifyTable) {
	for _, change := range of.Changes {
		if added, is := change.(*atlas.AddColumn); is {
			if value, is := added.C.Default.(*atlas.RawExpr); is {
				added.C.Default = &atlas.Literal{V: value.X}
			}
		}
	}
}

const storeColumn = "store_id"

// hideStore takes the store out of keys of two columns.
func hideStore(t *atlas.Table) {
	if key := t.PrimaryKey; key != nil && len(key.Parts) == 2 && key.Parts[1].C != nil && key.Parts[1].C.Name == storeColumn {
		key.Parts = key.Parts[:1]
	}
	for _, f := range t.ForeignKeys {
		if len(f.Columns) == 2 && f.Columns[1].Name == storeColumn {
			f.Columns, f.RefColumns = f.Columns[:1], f.RefColumns[:1]
			if f.Columns[0].Type.Null {
				f.OnDelete = atlas.SetNull // ent's, which a database distributed by store refuses; nothing deletes such rows
			}
		}
	}
}
