package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// SignInLink is a link with which one member of a store signs in to its dashboard once. Only the fingerprint of its secret
// is stored.
type SignInLink struct{ ent.Schema }

// Annotations of sign-in links.
func (SignInLink) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("sign_in_links")}
}

// Fields of a sign-in link.
func (SignInLink) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.Bytes("fingerprint").MinLen(32).MaxLen(32).Immutable().Sensitive().Comment("SHA-256 of the link's secret"),
		field.String("member").Immutable().Comment("the name that the activity journal shows"),
		field.String("role").Immutable().Comment("owner or admin"),
		origin(),
		field.Time("expires_at").Immutable(),
		field.Time("used_at").Optional().Nillable(),
		field.Time("revoked_at").Optional().Nillable(),
		createdAt(),
	}
}

// Indexes of sign-in links. The fingerprint is looked up without a store.
func (SignInLink) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("fingerprint").Unique(),
		index.Fields("store_id", "created_at", "id"),
	}
}
