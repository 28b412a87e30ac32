package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Webhook is the URL of a receiver to which a store's events are sent. One webhook has no store: its store_id is zero, and it
// receives notices.
type Webhook struct{ ent.Schema }

// Fields of a webhook. It has no edge to a store, because the webhook of notices has no store.
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
		createdAt(),
		updatedAt(),
	}
}

// Indexes of webhooks. Migration 10 adds one that ent does not model, which refuses a second webhook without a store.
func (Webhook) Indexes() []ent.Index {
	return []ent.Index{index.Fields("store_id", "created_at", "id")}
}
