// Package schema describes the service's tables: one table a file, with its columns, edges, indexes
// and the bounds that the database enforces. It holds no business rules and no hooks.
//
// Every table of a store's data has store_id, and every index of such a table starts with it. The
// exceptions are looked up without a store, a key's fingerprint and a store's slug, and the primary
// keys. On PostgreSQL those are (id, store_id), and foreign keys between such tables have the store
// too, so that the tables can be distributed by store; ent models the id alone.
//
// The tables of package count are not here: ent knows neither keys of several columns nor triggers.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"
)

//go:generate echo "ent/schema: write the client of the tables to gen/ent (ent, which is compiled the first time)"
//go:generate go run -modfile=../../tools.mod entc.go

// id is the primary key of tables whose ids we make: a UUIDv7, so that rows sort by the time of
// their creation.
func id() ent.Field {
	return field.UUID("id", uuid.UUID{}).
		Default(func() uuid.UUID { return uuid.Must(uuid.NewV7()) }).
		Immutable()
}

// storeID is the column of every table of a store's data.
func storeID() ent.Field {
	return field.UUID("store_id", uuid.UUID{}).Immutable()
}

// createdAt is set by the writer from the database's clock: UTC, in milliseconds.
func createdAt() ent.Field {
	return field.Time("created_at").Immutable()
}

// updatedAt is set by the writer from the database's clock at each change that a reader can see.
func updatedAt() ent.Field {
	return field.Time("updated_at")
}
