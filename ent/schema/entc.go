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
	if !migrations {
		storage.SchemaMode &^= gen.Migrate
	}
	return entc.Generate(".", &gen.Config{
		Target:   target,
		Package:  "go.storefront.example/gen/ent",
		Storage:  &storage,
		Features: []gen.Feature{gen.FeatureLock, gen.FeatureModifier, gen.FeatureExecQuery},
	})
}

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
