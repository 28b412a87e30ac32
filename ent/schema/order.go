package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Order is a purchase, from the catalogue or through a payment link.
type Order struct{ ent.Schema }

// Fields of an order.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("reference").Immutable(),
		field.Enum("status").Values("PENDING", "PAID", "FAILED", "CANCELLED", "REFUNDED").Default("PENDING"),
		field.Int64("amount").NonNegative().Immutable().Comment("minor units"),
		field.Float("platform_fee_percent").Immutable(),
		field.UUID("customer_id", uuid.UUID{}).Immutable(),
		field.UUID("payment_link_id", uuid.UUID{}).Optional().Nillable().Immutable(),
		field.String("note").Optional().Nillable().Immutable(),
		field.Time("paid_at").Optional().Nillable(),
		createdAt(),
		updatedAt(),
	}
}

// Edges of an order.
func (Order) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("store", Store.Type).Ref("orders").Field("store_id").Unique().Required().Immutable(),
		edge.From("customer", Customer.Type).Ref("orders").Field("customer_id").Unique().Required().Immutable(),
		edge.From("payment_link", PaymentLink.Type).Ref("orders").Field("payment_link_id").Unique().Immutable(),
		edge.To("items", OrderItem.Type),
	}
}

// Indexes of orders.
func (Order) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "reference").Unique(),
		index.Fields("store_id", "created_at", "id"),
		index.Fields("store_id", "status", "created_at", "id"),
		index.Fields("store_id", "customer_id"),
		index.Fields("store_id", "payment_link_id"),
	}
}
