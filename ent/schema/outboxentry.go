package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"
)

// OutboxEntry is an event that no worker has turned into deliveries yet. It is written with its event, if a webhook of the
// store subscribes to the event's type, and the relay deletes it. The row has no payload, so that relaying an event copies
// none.
type OutboxEntry struct{ ent.Schema }

// Annotations of outbox entries.
func (OutboxEntry) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("outbox")}
}

// Fields of an outbox entry. The id is the event's, which sorts by time, so that the machines of a cluster need no shared
// sequence.
func (OutboxEntry) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		storeID(),
		field.String("type").Immutable().Comment("of the event"),
	}
}
