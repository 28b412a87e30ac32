// Package schema describes the service's tables: a file for each table, with its columns, edges, indexes and the bounds that
// the database enforces. It contains no business rules and no hooks.
//
// Every per-store table has store_id, and every index of it starts with store_id. The exceptions are indexes for look-ups
// without a store, such as a key's fingerprint, and primary keys. On PostgreSQL primary keys are (id, store_id), and foreign
// keys between such tables contain the store, so that the tables can be distributed by store; ent models only the id.
//
// The tables of package count are not here, because ent models neither keys of several columns nor triggers.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"
)

//go:generate echo "ent/schema: write the client of the tables to gen/ent (ent, which is compiled the first time)"
//go:generate go run -modfile=../../tools.mod entc.go

// id is a UUIDv7 that the service makes, so that rows sort by their creation.
func id() ent.Field {
	return field.UUID("id", uuid.UUID{}).
		Default(func() uuid.UUID { return uuid.Must(uuid.NewV7()) }).
		Immutable()
}

// storeID is the column of every per-store table.
func storeID() ent.Field {
	return field.UUID("store_id", uuid.UUID{}).Immutable()
}

// createdAt is by the database's clock: UTC, in milliseconds.
func createdAt() ent.Field {
	return field.Time("created_at").Immutable()
}

// updatedAt is the last change that a reader of the row can see, by the database's clock.
func updatedAt() ent.Field {
	return field.Time("updated_at")
}
