package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Forgetting is an erasure of a customer's personal data: first a job in steps, which any process continues, and in the end the
// receipt, which is kept and has no personal data.
type Forgetting struct{ ent.Schema }

// Fields of a forgetting. Its id is the customer's.
func (Forgetting) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.Bytes("progress").Comment("JSON: the counts, the pass and its position; package erase owns it"),
		field.Time("begun_at").Optional().Nillable().Comment("when the customer's row was last replaced; null means again"),
		field.Time("due_at").Optional().Nillable().Comment("when workers may do its next step; null means at once"),
		field.Int("failures").Default(0).Comment("how many steps in a row have failed"),
		field.Time("finished_at").Optional().Nillable(),
		field.String("log_waits_for").Optional().Nillable().
			Comment("the reader that keeps SQLite's write-ahead log from being emptied; null once it is empty"),
	}
}

// Indexes of forgettings. Workers look for the unfinished forgettings of all stores, and for forgettings that wait for
// SQLite's log.
func (Forgetting) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("due_at", "id").Annotations(entsql.IndexWhere("finished_at IS NULL")),
		index.Fields("log_waits_for").Annotations(entsql.IndexWhere("log_waits_for IS NOT NULL")),
	}
}
