package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// IdempotencyKey is a key with the stored answer of an admin operation, written in its transaction. A repeated request gets the
// same answer and changes nothing. What the caller chose and asked for is kept only as hashes under a key of the store, which
// is a row of this table too.
type IdempotencyKey struct{ ent.Schema }

// Annotations of idempotency keys.
func (IdempotencyKey) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("idempotency_keys")}
}

// Fields of an idempotency key.
func (IdempotencyKey) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.String("operation").Immutable().Comment("such as order.create"),
		field.String("key").Immutable().Comment("HMAC-SHA-256 of what the caller chose, in base64"),
		field.Bytes("request").Comment("HMAC-SHA-256 of what was asked for; empty once the answer's customer is erased"),
		field.Bytes("answer").Immutable().Comment("the message that was answered"),
		createdAt(),
		field.UUID("customer_id", uuid.UUID{}).Optional().Nillable().Comment("the customer whose data the answer has"),
	}
}

// Indexes of idempotency keys.
func (IdempotencyKey) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("store_id", "operation", "key").Unique(),
		index.Fields("store_id", "customer_id").Annotations(entsql.IndexWhere("customer_id IS NOT NULL")),
	}
}
