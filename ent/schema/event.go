package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Event is the envelope of an event, in the bytes that are signed and sent. It never changes, except that an erasure replaces
// its payload. Ids sort by time.
type Event struct{ ent.Schema }

// Fields of an event. It has no edges, because an event outlives the rows that it describes.
func (Event) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("type").Immutable(),
		field.Bytes("payload").Immutable().Comment("the event envelope, as it is signed and sent"),
		createdAt(),
		field.UUID("request_id", uuid.UUID{}).Optional().Nillable().Immutable().
			Comment("the request that caused it, for the logs"),
		field.String("trace").Optional().Nillable().Immutable().
			Comment("W3C traceparent of the change, while traces are collected"),
		field.UUID("customer_id", uuid.UUID{}).Optional().Nillable().Immutable().
			Comment("the customer whose data the payload has, the nil id without one; null until an erasure has read an event of " +
				"release 2026-09"),
	}
}

// Indexes of events. An erasure finds the events of a customer, and the events whose customer nobody has read yet.
func (Event) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "created_at", "id"),
		index.Fields("store_id", "customer_id", "created_at", "id").Annotations(entsql.IndexWhere("customer_id IS NOT NULL")),
		index.Fields("store_id", "created_at", "id").StorageKey("event_without_customer").Annotations(entsql.IndexWhere("customer_id IS NULL")),
	}
}
