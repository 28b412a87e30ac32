package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// RefusedRequest is a refused request to the public API, as the key's owner sees it: which fields were wrong, without their
// values. Package usage writes the rows.
type RefusedRequest struct{ ent.Schema }

// Annotations of refused requests.
func (RefusedRequest) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("refused_requests")}
}

// Fields of a refused request. It has no edges, because it outlives its key.
func (RefusedRequest) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.UUID("key_id", uuid.UUID{}).Immutable(),
		field.UUID("request_id", uuid.UUID{}).Immutable(),
		field.String("method").Immutable(),
		field.String("route").Immutable().Comment("the path's template or the procedure, or unmatched"),
		field.Int32("status").Immutable(),
		field.String("code").Immutable(),
		field.String("fields").Immutable().Comment("the names of the refused fields, in lines"),
		createdAt(),
	}
}

// Indexes of refused requests.
func (RefusedRequest) Indexes() []ent.Index {
	return []ent.Index{index.Fields("store_id", "key_id", "id")}
}
