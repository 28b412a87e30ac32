package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Product is an item of a store's catalogue.
type Product struct{ ent.Schema }

// Fields of a product.
func (Product) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("title"),
		field.String("title_folded").Comment("the title as q compares it"),
		field.String("slug").Immutable(),
		field.Enum("type").Values("FILE", "COURSE", "LICENSE", "MEETING", "EVENT").Immutable(),
		field.Enum("status").Values("DRAFT", "PUBLISHED", "ARCHIVED").Default("DRAFT"),
		field.String("summary").Default(""),
		field.Text("description").Default("").Comment("HTML"),
		field.Int64("price_amount").NonNegative().Comment("minor units"),
		field.Int64("compare_at_amount").Optional().Nillable().Comment("minor units"),
		field.String("url").Comment("public address"),
		field.String("cover_url").Optional().Nillable(),
		field.Bool("content_ready").Default(false).Comment("whether there is something to deliver"),
		field.Time("published_at").Optional().Nillable(),
		createdAt(),
		updatedAt(),
	}
}

// Edges of a product.
func (Product) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("store", Store.Type).Ref("products").Field("store_id").Unique().Required().Immutable(),
	}
}

// Indexes of products: one for each set of filters that a list can have, in the list's order.
func (Product) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "slug").Unique(),
		index.Fields("store_id", "created_at", "id"),
		index.Fields("store_id", "status", "created_at", "id"),
		index.Fields("store_id", "type", "created_at", "id"),
		index.Fields("store_id", "status", "type", "created_at", "id"),
	}
}
