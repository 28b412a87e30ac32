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
// event, if a webhook of the store subscribes to the type, and deleted by the relay. The table is
// short and its rows are small, so that relaying an event rewrites no payload.
type OutboxEntry struct{ ent.Schema }

// Annotations of outbox entries.
func (OutboxEntry) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("outbox")}
}

// Fields of an outbox entry. The database counts the id: unlike times of several hosts it gives the
// order in which entries were written, except for transactions that overlap.
func (OutboxEntry) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.UUID("event_id", uuid.UUID{}).Immutable(),
		storeID(),
		field.String("type").Immutable().Comment("of the event"),
	}
}

// Indexes of outbox entries: whether an event still waits to be turned into deliveries.
func (OutboxEntry) Indexes() []ent.Index {
	return []ent.Index{index.Fields("store_id", "event_id")}
}
