package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// IdempotencyKey is a key with the stored answer of an admin operation. A checkout that repeats a request under the same key
// gets the same answer and changes nothing, because the row is written in the operation's transaction.
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
		field.String("key").Immutable().Comment("as the caller chose it"),
		field.Bytes("request").MinLen(32).MaxLen(32).Immutable().Comment("SHA-256 of what was asked for"),
		field.Bytes("answer").Immutable().Comment("the message that was answered"),
		createdAt(),
	}
}

// Indexes of idempotency keys.
func (IdempotencyKey) Indexes() []ent.Index {
	return []ent.Index{index.Fields("store_id", "operation", "key").Unique()}
}
