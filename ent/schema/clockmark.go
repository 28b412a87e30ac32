package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// ClockMark is when notices, the deletion of old data or, of a SQLite file, the last verified backup last ran. On SQLite nothing
// is deleted for a while without a recent deletion, because the clock may be wrong.
type ClockMark struct{ ent.Schema }

// Annotations of clock marks.
func (ClockMark) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("clock_marks")}
}

// Fields of a clock mark.
func (ClockMark) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Immutable().Comment("what was done: notices (a sweep for those that are due), journal (the deletion of old data), backup"),
		field.Time("seen_at").Comment("by the database's clock"),
		field.Time("held_until").Optional().Nillable().Comment("nothing is deleted before"),
	}
}
