package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Forgetting is the order to forget a customer, with how far it has come and its receipt, which is kept. It
// holds no personal data. It runs in steps, each a transaction that advances the position; any process
// continues an unfinished one.
type Forgetting struct{ ent.Schema }

// Fields of a forgetting, whose id is the customer's.
func (Forgetting) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("pass").Comment("what the next step looks through: events, activity or the rest"),
		field.Time("position_at").Comment("createdAt of the last row looked at"),
		field.UUID("position_id", uuid.UUID{}).Comment("id of the last row looked at"),
		field.Int64("events").Default(0).Comment("whose payloads were replaced"),
		field.Int64("deliveries").Default(0).Comment("whose answers were replaced"),
		field.Int64("activity_entries").Default(0).Comment("whose values were replaced"),
		field.Int64("notes").Default(0).Comment("of the customer's orders, removed"),
		field.Int64("idempotency_keys").Default(0).Comment("whose answers were replaced"),
		field.Int64("refused_requests").Default(0).Comment("whose names of fields were removed"),
		createdAt(),
		field.Time("finished_at").Optional().Nillable(),
	}
}

// Indexes of forgettings. Workers look for the unfinished ones of all stores.
func (Forgetting) Indexes() []ent.Index {
	return []ent.Index{index.Fields("id").Annotations(entsql.IndexWhere("finished_at IS NULL"))}
}
