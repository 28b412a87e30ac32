package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// AddressCounter counts one client's unknown keys in one minute. On PostgreSQL the table is unlogged, like RateCounter's.
type AddressCounter struct{ ent.Schema }

// Annotations of address counters.
func (AddressCounter) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("address_counters")}
}

// Fields of an address counter.
func (AddressCounter) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Immutable().Comment("the client: an IPv4 address, or the /64 of an IPv6 one"),
		field.Int64("minute").Comment("minutes since 1970 in UTC"),
		field.Int32("count"),
	}
}

// Indexes of address counters. The index on the minute serves the sweep of past minutes.
func (AddressCounter) Indexes() []ent.Index {
	return []ent.Index{index.Fields("minute")}
}
