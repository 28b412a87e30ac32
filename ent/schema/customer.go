package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Customer is a customer of one store.
type Customer struct{ ent.Schema }

// Annotations of customers: a check that e-mail or phone is set.
func (Customer) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entsql.Checks(map[string]string{"customer_identified": "email IS NOT NULL OR phone IS NOT NULL"}),
	}
}

// Fields of a customer.
func (Customer) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("name").Default(""),
		field.String("email").Optional().Nillable().Comment("lower case"),
		field.String("phone").Optional().Nillable().Comment("E.164"),
		field.String("search").Comment("name, e-mail and phone as q compares them, a line each"),
		field.Int32("orders_count").Default(0),
		field.Int64("total_paid").Default(0).Comment("minor units"),
		createdAt(),
		updatedAt(),
	}
}

// Edges of a customer.
func (Customer) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("store", Store.Type).Ref("customers").Field("store_id").Unique().Required().Immutable(),
		edge.To("orders", Order.Type),
	}
}

// Indexes of customers. Unique indexes allow an e-mail or a phone only once in a store.
func (Customer) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "email").Unique(),
		index.Fields("store_id", "phone").Unique(),
		index.Fields("store_id", "created_at", "id"),
	}
}
