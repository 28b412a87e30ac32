package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Cancellation is the order to cancel the waiting deliveries of a webhook that was disabled or
// deleted. They count as cancelled from the commit of this row. Workers then move them to the
// journal in steps, each a transaction that advances the position, and delete the row at the end.
type Cancellation struct{ ent.Schema }

// Fields of a cancellation.
func (Cancellation) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.UUID("webhook_id", uuid.UUID{}).Immutable(),
		field.Int64("epoch").Immutable().Comment("deliveries of an earlier epoch of the webhook were cancelled at created_at"),
		field.Bool("position_retry").Default(false).Comment("retry, due_at and id of the last delivery looked at"),
		field.Time("position_due_at"),
		field.UUID("position_id", uuid.UUID{}),
		field.Int64("found").Default(0).Comment("how many cancelled deliveries this lap through the webhook's met"),
		field.Time("due_at").Comment("by the database's clock: when the next step is due"),
		createdAt(),
	}
}

// Indexes of cancellations. Workers look for those that are due; the journal looks up when a
// delivery was cancelled.
func (Cancellation) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "webhook_id", "epoch").Unique(),
		index.Fields("due_at"),
	}
}
