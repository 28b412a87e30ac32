package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// ApiKey is an API key of one store. Only the key's fingerprint is stored.
type ApiKey struct{ ent.Schema } //nolint:revive // ent names the table after the type: api_keys

// Fields of an API key.
func (ApiKey) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("name").Immutable(),
		field.Bytes("fingerprint").MinLen(32).MaxLen(32).Immutable().Sensitive().Comment("SHA-256 of the whole key"),
		field.String("hint").Immutable().Comment("prefix and last four characters"),
		field.JSON("scopes", []string{}).Immutable(),
		field.Time("expires_at").Optional().Nillable().Immutable(),
		field.Time("revoked_at").Optional().Nillable(),
		field.Time("last_used_at").Optional().Nillable(),
		createdAt(),
	}
}

// Edges of an API key.
func (ApiKey) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("store", Store.Type).Ref("api_keys").Field("store_id").Unique().Required().Immutable(),
	}
}

// Indexes of API keys. The fingerprint is looked up without a store.
func (ApiKey) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("fingerprint").Unique(),
		index.Fields("store_id", "created_at", "id"),
	}
}
