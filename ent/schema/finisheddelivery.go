package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// FinishedDelivery is a delivery that has ended, with all its attempts. A row is written once and
// never changed. Ids sort by time.
type FinishedDelivery struct{ ent.Schema }

// Annotations of finished deliveries.
func (FinishedDelivery) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("finished_deliveries")}
}

// Fields of a finished delivery. It has no edges: the journal outlives a deleted webhook.
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

// Indexes of finished deliveries: a store's journal by status, newest first, to find the few that
// did not succeed among many that did; and the deliveries of an event.
func (FinishedDelivery) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "status", "id"),
		index.Fields("store_id", "event_id"),
	}
}
