package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// FinishedDelivery is a delivery that has ended, with all its attempts. Its ids sort by time.
type FinishedDelivery struct{ ent.Schema }

// Annotations of finished deliveries.
func (FinishedDelivery) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("finished_deliveries")}
}

// Fields of a finished delivery. It has no edges, because the delivery journal outlives a deleted webhook.
func (FinishedDelivery) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.UUID("webhook_id", uuid.UUID{}).Immutable(),
		field.UUID("event_id", uuid.UUID{}).Immutable(),
		field.String("event_type").Immutable(),
		field.Enum("status").Values("succeeded", "failed", "cancelled").Immutable(),
		field.Bytes("attempts").Immutable().Comment("JSON: the attempts made, oldest first"),
		createdAt(),
		field.Time("finished_at").Immutable(),
	}
}

// Indexes of finished deliveries: by status, newest first, to find the few failed deliveries in a store's journal; and by
// event.
func (FinishedDelivery) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "status", "id"),
		index.Fields("store_id", "event_id"),
	}
}
