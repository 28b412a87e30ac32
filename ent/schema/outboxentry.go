package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// OutboxEntry is an event that no worker has turned into deliveries yet. It is written with its
// event, when a webhook of the store subscribes to the type, and deleted by the relay: the table
// is short, and its rows are slim, so that the passing of an event rewrites no payload.
type OutboxEntry struct{ ent.Schema }

// Annotations of outbox entries.
func (OutboxEntry) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("outbox")}
}

// Fields of an outbox entry. The id is counted by the database: unlike times of several hosts it
// tells in which order entries were written, up to transactions that overlap.
func (OutboxEntry) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.UUID("event_id", uuid.UUID{}).Immutable(),
		storeID(),
		field.String("type").Immutable().Comment("of the event"),
	}
}

// Indexes of outbox entries: whether an event is still to be turned into deliveries.
func (OutboxEntry) Indexes() []ent.Index {
	return []ent.Index{index.Fields("store_id", "event_id")}
}
