//go:build ignore

// Entc writes the client of the tables to gen/ent and their description to gen/ent/migrate, even if gen is empty.
//
// Ent's client would import that description, and with it ent's migration engine: atlas, HCL and a YAML library, 48 packages
// that the service never calls, because goose runs its migrations. So the two are generated separately: the client without
// migrations, and the description for ent/migrations/drift.
package main

import (
	"log"
	"os"
	"path/filepath"
	"slices"

	"entgo.io/ent/entc/gen"
	"entgo.io/ent/entc/load"
)

const target = "../../gen/ent"

func main() {
	if err := generate(target, false); err != nil {
		log.Fatalf("generate the ent client: %v", err)
	}
	if err := describe(); err != nil {
		log.Fatalf("generate the description of the tables: %v", err)
	}
}

// generate writes a client, with or without the description of the tables.
func generate(target string, migrations bool) error {
	sql, err := gen.NewStorage("sql")
	if err != nil {
		return err
	}
	storage := *sql
	spec, err := (&load.Config{Path: "."}).Load()
	if err != nil {
		return err
	}
	if !migrations {
		storage.SchemaMode &^= gen.Migrate
		spec.Schemas = used(spec.Schemas)
	}
	graph, err := gen.NewGraph(&gen.Config{
		Target:   target,
		Schema:   spec.PkgPath,
		Package:  "go.storefront.example/gen/ent",
		Storage:  &storage,
		Features: []gen.Feature{gen.FeatureLock, gen.FeatureExecQuery},
		Templates: []*gen.Template{
			gen.MustParse(gen.NewTemplate("store").Funcs(gen.Funcs).Parse(updateInStore)),
		},
	}, spec.Schemas...)
	if err != nil {
		return err
	}
	return graph.Gen()
}

// sqlOnly are the tables that the service accesses only through SQL of its own; tests read their rows with functions of dbtest.
var sqlOnly = []string{"AddressCounter", "ClockMark", "Delivery", "FinishedDelivery", "Forgetting", "IdempotencyKey",
	"RateCounter", "RefusedRequest", "Resend", "Tally"}

// used returns the tables for which the client gets code. It leaves out the tables in sqlOnly, which saves some 180 KB of
// the binary, and the edges of all tables, because the service refers to rows by id. The description of the tables stays
// complete.
func used(tables []*load.Schema) []*load.Schema {
	tables = slices.DeleteFunc(tables, func(t *load.Schema) bool { return slices.Contains(sqlOnly, t.Name) })
	for _, t := range tables {
		t.Edges = nil
	}
	return tables
}

// updateInStore is a template for the code that ent generates. With it, ent's UPDATE of one row that was read, and the SELECT
// that reads the row again, name the row's store_id besides its id. So a database distributed by store accesses one machine.
// Without the template, ent supports keys of two columns only for tables that join others. An UPDATE with a further condition
// stays unchanged.
const updateInStore = `
{{- define "dialect/sql/update/spec/store" }}
	{{- $mutation := print $.Scope.Receiver ".mutation" }}
	{{- range $f := $.Fields }}
		{{- if and (eq $f.Name "store_id") (hasSuffix (pascal $.Scope.Builder) "One") }}
			if {{ $mutation }}.oldValue != nil && _spec.Predicate == nil {
				store, err := {{ $mutation }}.OldStoreID(ctx)
				if err != nil {
					return nil, err
				}
				_spec.Node.ID, _spec.Node.CompositeID = nil, []*sqlgraph.FieldSpec{
					{Column: {{ $.Package }}.{{ $.ID.Constant }}, Type: field.{{ $.ID.Type.ConstName }}, Value: id},
					{Column: {{ $.Package }}.{{ $f.Constant }}, Type: field.{{ $f.Type.ConstName }}, Value: store},
				}
			}
		{{- end }}
	{{- end }}
{{- end }}
`

// describe writes only the description of the tables. It copies the description from a whole client in a temporary folder.
func describe() error {
	folder, err := os.MkdirTemp("", "ent-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := generate(folder, true); err != nil {
		return err
	}
	migrate := filepath.Join(target, "migrate")
	if err := os.RemoveAll(migrate); err != nil {
		return err
	}
	return os.CopyFS(migrate, os.DirFS(filepath.Join(folder, "migrate")))
}
