//go:build ignore

// Entc writes the client of the tables to gen/ent, from nothing if need be.
package main

import (
	"log"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
)

func main() {
	err := entc.Generate(".", &gen.Config{
		Target:  "../../gen/ent",
		Package: "go.storefront.example/gen/ent",
		Features: []gen.Feature{
			gen.FeatureLock,
			gen.FeatureModifier,
			gen.FeatureExecQuery,
			gen.FeatureVersionedMigration,
		},
	})
	if err != nil {
		log.Fatalf("generate the ent client: %v", err)
	}
}
