package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Webhook is an address of a store's owner that receives events.
type Webhook struct{ ent.Schema }

// Fields of a webhook.
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

// Edges of a webhook.
func (Webhook) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("store", Store.Type).Ref("webhooks").Field("store_id").Unique().Required().Immutable(),
	}
}

// Indexes of webhooks.
func (Webhook) Indexes() []ent.Index {
	return []ent.Index{index.Fields("store_id", "created_at", "id")}
}
