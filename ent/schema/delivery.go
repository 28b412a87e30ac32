package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Delivery is an event on its way to one webhook, written in the transaction that causes the event. Once it has ended, it is
// moved to the table of finished deliveries.
type Delivery struct{ ent.Schema }

// Fields of a delivery.
func (Delivery) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.UUID("webhook_id", uuid.UUID{}).Immutable(),
		field.UUID("event_id", uuid.UUID{}).Immutable(),
		field.String("event_type").Immutable(),
		field.Bool("retry").Default(false).Comment("whether an attempt was made already; first attempts go first"),
		field.Time("due_at").Comment("by the database's clock: when the next attempt is due"),
		field.UUID("lease", uuid.UUID{}).Optional().Nillable().
			Comment("the token of the worker that makes an attempt now"),
		field.Time("leased_until").Optional().Nillable().
			Comment("by the database's clock: when the lease ends; null without a lease"),
		field.Bytes("attempts").Comment("JSON: the attempts made, oldest first"),
		field.Int64("epoch").Immutable().Comment("that of the webhook when it was made"),
		createdAt(),
	}
}

// Indexes of deliveries. Workers look for due deliveries across all stores, so one index starts with the time; claims within a
// store use the lane's. The last one finds the delivery of an event to a webhook. No index has a column that a lease changes,
// so that a claim adds no entry to one.
func (Delivery) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "webhook_id", "epoch", "retry", "due_at", "id"),
		index.Fields("due_at"),
		index.Fields("store_id", "event_id"),
	}
}
