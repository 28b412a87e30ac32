package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// ActivityEntry is one change in a store's activity journal.
type ActivityEntry struct{ ent.Schema }

// Annotations of activity entries.
func (ActivityEntry) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("activity_entries")}
}

// Fields of an activity entry. It has no edges, because the journal outlives the rows that it describes.
func (ActivityEntry) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("actor_type").Immutable().Comment("api_key, operator or member"),
		field.String("actor_id").Immutable().Comment("the key's id; empty for the operator"),
		field.String("actor_name").Immutable(),
		field.String("action").Immutable().Comment("such as product.updated"),
		field.String("resource_type").Immutable(),
		field.UUID("resource_id", uuid.UUID{}).Immutable(),
		field.Bytes("changes").Comment("JSON: field to from and to; only the counts of an import change later"),
		createdAt(),
	}
}

// Indexes of activity entries.
func (ActivityEntry) Indexes() []ent.Index {
	return []ent.Index{index.Fields("store_id", "created_at", "id"), index.Fields("store_id", "resource_id")}
}
