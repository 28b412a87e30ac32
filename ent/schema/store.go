package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Store is an online store.
type Store struct{ ent.Schema }

// Fields of a store.
func (Store) Fields() []ent.Field {
	return []ent.Field{
		id(),
		field.String("name"),
		field.String("slug"),
		field.String("url").Comment("public address"),
		field.String("description").Default(""),
		field.String("currency").MinLen(3).MaxLen(3).Immutable().Comment("ISO 4217"),
		field.String("country").MinLen(2).MaxLen(2).Comment("ISO 3166-1 alpha-2"),
		field.String("support_email").Default(""),
		field.String("phone").Default("").Comment("E.164"),
		field.String("whatsapp_phone").Default("").Comment("E.164"),
		field.JSON("social_links", map[string]string{}).Default(map[string]string{}),
		field.Enum("status").Values("open", "suspended", "closed").Default("open"),
		field.Bool("payment_links_open").Default(true).Comment("whether payment links may be created"),
		field.JSON("unavailable_types", []string{}).Default([]string{}).
			Comment("product types that may not be published"),
		field.Time("delete_at").Optional().Nillable().
			Comment("when all that it has begins to be deleted; null for a store that stays"),
		field.Time("deletion_began_at").Optional().Nillable().
			Comment("when the first of its rows was deleted, after which it cannot be restored; null before"),
		field.Float("platform_fee_percent").Default(0).Comment("copied to each order recorded"),
		createdAt(),
		updatedAt(),
	}
}

// Edges of a store.
func (Store) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("products", Product.Type),
		edge.To("customers", Customer.Type),
		edge.To("orders", Order.Type),
		edge.To("payment_links", PaymentLink.Type),
		edge.To("api_keys", ApiKey.Type),
	}
}

// Indexes of stores.
func (Store) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("slug").Unique(),
		index.Fields("created_at", "id"),
		index.Fields("delete_at").Annotations(entsql.IndexWhere("delete_at IS NOT NULL")),
	}
}
