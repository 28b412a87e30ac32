package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// ClockMark is when a SQLite file was last swept, or when its last verified backup began. Without a recent sweep, sweeps delete
// nothing for a while, because the clock may be wrong.
type ClockMark struct{ ent.Schema }

// Annotations of clock marks.
func (ClockMark) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("clock_marks")}
}

// Fields of a clock mark.
func (ClockMark) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Immutable().Comment("what was done: journal (its sweep), backup"),
		field.Time("seen_at").Comment("by the machine's clock"),
		field.Time("held_until").Optional().Nillable().Comment("nothing is deleted before"),
	}
}
