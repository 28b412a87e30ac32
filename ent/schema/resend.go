package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Resend is a job that sends a webhook every event since a time that was not delivered to it. It runs in steps; any process
// continues it.
type Resend struct{ ent.Schema }

// Fields of a resend.
func (Resend) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.UUID("webhook_id", uuid.UUID{}).Immutable(),
		field.Time("since").Immutable().Comment("events from this time on"),
		field.Time("until").Immutable().Comment("and before this one, when it was ordered"),
		field.Time("position_at").Comment("createdAt of the last event looked at"),
		field.UUID("position_id", uuid.UUID{}).Comment("id of the last event looked at"),
		field.Bool("stopped").Default(false).Comment("whether it ended because its webhook was disabled or deleted"),
		field.Int64("resent").Default(0).Comment("how many deliveries it made"),
		createdAt(),
		field.Time("finished_at").Optional().Nillable(),
	}
}

// Indexes of resends. Workers look for the unfinished resends of all stores.
func (Resend) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "webhook_id", "created_at"),
		index.Fields("id").Annotations(entsql.IndexWhere("finished_at IS NULL")),
	}
}
