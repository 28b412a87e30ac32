package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"
)

// RateCounter counts the requests of one key in one minute; in a new minute the row starts again. On PostgreSQL the table is
// unlogged, because a crash loses only one minute's count.
type RateCounter struct{ ent.Schema }

// Annotations of rate counters.
func (RateCounter) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("rate_counters")}
}

// Fields of a rate counter.
func (RateCounter) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable().Comment("the key's id"),
		field.Int64("minute").Comment("minutes since 1970 in UTC"),
		field.Int32("count"),
	}
}
