package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Webhook is the URL of a receiver to which a store's events are sent. The webhook whose store_id is zero is the sink, which
// receives notices.
type Webhook struct{ ent.Schema }

// Fields of a webhook. It has no edge to a store, because the sink has no store.
func (Webhook) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("url"),
		field.String("description").Default(""),
		field.JSON("events", []string{}).Comment("the types that it subscribes to"),
		field.Bytes("secret").Sensitive().Comment("the signing secret, sealed under the webhook's id"),
		field.String("secret_key").Comment("id of the key that the secret is sealed with"),
		field.Bool("enabled").Default(true),
		field.Time("disabled_at").Optional().Nillable(),
		field.Bool("disabled_automatically").Default(false).Comment("by its failures, not by a person"),
		field.Time("failing_since").Optional().Nillable().
			Comment("when the first of its failures in a row ended; empty after a success"),
		field.Int64("epoch").Default(1).
			Comment("raised when it is disabled: deliveries of another epoch are cancelled"),
		field.Int("notice_level").Default(0).
			Comment("what the platform was last told of its failures: package notice"),
		field.UUID("notice_id", uuid.UUID{}).Optional().Nillable().Comment("the event of that notice"),
		createdAt(),
		updatedAt(),
	}
}

// Indexes of webhooks.
func (Webhook) Indexes() []ent.Index {
	return []ent.Index{index.Fields("store_id", "created_at", "id")}
}
