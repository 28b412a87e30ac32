package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Tally counts successes and failures: of an API key in a day, or of a webhook in an hour. Package usage writes the rows.
type Tally struct{ ent.Schema }

// Fields of a tally. The id contains the beginning of the period, so that the sweep can delete old tallies by their ids.
func (Tally) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.UUID("subject_id", uuid.UUID{}).Immutable().Comment("an API key or a webhook"),
		field.Time("began_at").Immutable(),
		field.Int64("succeeded").Default(0),
		field.Int64("failed").Default(0),
		field.Int64("duration_ms").Default(0).Comment("of all of them together"),
	}
}

// Indexes of tallies.
func (Tally) Indexes() []ent.Index {
	return []ent.Index{index.Fields("store_id", "subject_id", "began_at").Unique()}
}
