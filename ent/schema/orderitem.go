package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// OrderItem is one line of an order, as it was when the order was created. product_id is not a foreign key, because the product
// may have been deleted since.
type OrderItem struct{ ent.Schema }

// Fields of an order item.
func (OrderItem) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.UUID("order_id", uuid.UUID{}).Immutable(),
		field.Int32("position").NonNegative().Immutable().Comment("place in the order, from 0"),
		field.UUID("product_id", uuid.UUID{}).Immutable(),
		field.Enum("type").Values("FILE", "COURSE", "LICENSE", "MEETING", "EVENT").Immutable(),
		field.String("title").Immutable(),
		field.Int64("unit_amount").NonNegative().Immutable().Comment("minor units"),
		field.Int32("quantity").Positive().Immutable(),
	}
}

// Edges of an order item.
func (OrderItem) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("order", Order.Type).Ref("items").Field("order_id").Unique().Required().Immutable(),
	}
}

// Indexes of order items.
func (OrderItem) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "order_id", "position").Unique(),
	}
}
