package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// PaymentLink is an address at which a buyer pays a fixed or a chosen amount.
type PaymentLink struct{ ent.Schema }

// Fields of a payment link.
func (PaymentLink) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("code").Immutable(),
		field.String("url").Immutable().Comment("public payment address"),
		field.String("title"),
		field.Text("description").Optional().Nillable(),
		field.String("cover_url").Optional().Nillable(),
		field.Enum("pricing").Values("FIXED", "OPEN"),
		field.Int64("amount").Optional().Nillable().Positive().Comment("minor units; FIXED"),
		field.Int64("min_amount").Optional().Nillable().Positive().Comment("minor units; OPEN"),
		field.Text("thank_you_message").Optional().Nillable(),
		field.Time("expires_at").Optional().Nillable(),
		field.Int32("max_payments").Optional().Nillable().Positive(),
		field.Time("disabled_at").Optional().Nillable(),
		field.Int32("paid_count").Default(0),
		field.Int64("paid_amount").Default(0).Comment("minor units"),
		field.Time("last_paid_at").Optional().Nillable(),
		createdAt(),
		updatedAt(),
	}
}

// Edges of a payment link.
func (PaymentLink) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("store", Store.Type).Ref("payment_links").Field("store_id").Unique().Required().Immutable(),
		edge.To("orders", Order.Type),
	}
}

// Indexes of payment links.
func (PaymentLink) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "code").Unique(),
		index.Fields("store_id", "created_at", "id"),
	}
}
