package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Event is a row of the outbox: an event envelope in the exact bytes that are signed and sent.
type Event struct{ ent.Schema }

// Fields of an event. It has no edges: what happened stays true whatever becomes of the rows.
func (Event) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("type").Immutable(),
		field.Bytes("payload").Immutable().Comment("the event envelope, as it is signed and sent"),
		createdAt(),
	}
}

// Indexes of events.
func (Event) Indexes() []ent.Index {
	return []ent.Index{index.Fields("store_id", "created_at", "id")}
}
