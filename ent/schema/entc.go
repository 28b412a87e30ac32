//go:build ignore

// Entc writes the client of the tables to gen/ent and their description to gen/ent/migrate, also if
// gen is empty.
//
// Ent's client would import that description, and with it ent's migration engine: atlas, HCL and a
// YAML library, 48 packages that the service never calls, because goose runs its migrations. So the
// two are generated separately: the client without migrations, and the description for
// ent/migrations/drift.
package main

import (
	"log"
	"os"
	"path/filepath"
	"slices"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
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

// generate writes a client, with the description of the tables or without it.
func generate(target string, migrations bool) error {
	sql, err := gen.NewStorage("sql")
	if err != nil {
		return err
	}
	storage := *sql
	var hooks []gen.Hook
	if !migrations {
		storage.SchemaMode &^= gen.Migrate
		hooks = append(hooks, withoutTables)
	}
	return entc.Generate(".", &gen.Config{
		Target:   target,
		Package:  "go.storefront.example/gen/ent",
		Storage:  &storage,
		Hooks:    hooks,
		Features: []gen.Feature{gen.FeatureLock, gen.FeatureExecQuery},
		Templates: []*gen.Template{
			gen.MustParse(gen.NewTemplate("store").Funcs(gen.Funcs).Parse(updateInStore)),
		},
	})
}

// sqlOnly are the tables that the service reads and writes by SQL of its own alone; tests have
// functions of dbtest for their rows.
var sqlOnly = []string{"AddressCounter", "Cancellation", "ClockMark", "Delivery", "FinishedDelivery", "OutboxEntry", "RateCounter",
	"RefusedRequest", "Tally"}

// withoutTables leaves them out of the client: each would be a package and some 180 KB of the binary that
// nobody calls. Their description stays whole.
func withoutTables(next gen.Generator) gen.Generator {
	return gen.GenerateFunc(func(g *gen.Graph) error {
		g.Nodes = slices.DeleteFunc(g.Nodes, func(n *gen.Type) bool { return slices.Contains(sqlOnly, n.Name) })
		return next.Generate(g)
	})
}

// updateInStore makes the change of a row that was read, and ent's second look at it, name its store beside
// its id, so that a database distributed by store looks in one place. Ent knows keys of two columns of
// tables that join others only; a change with a condition of its own is not made for them.
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

// describe writes the description of the tables alone, taken out of a client that has it.
func describe() error {
	whole, err := os.MkdirTemp("", "ent-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(whole)
	if err := generate(whole, true); err != nil {
		return err
	}
	migrate := filepath.Join(target, "migrate")
	if err := os.RemoveAll(migrate); err != nil {
		return err
	}
	return os.CopyFS(migrate, os.DirFS(filepath.Join(whole, "migrate")))
}
