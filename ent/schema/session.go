package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Session is a member of a store who is signed in to its dashboard. Only the fingerprint of the
// cookie's secret is kept.
type Session struct{ ent.Schema }

// Fields of a session.
func (Session) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.Bytes("fingerprint").MinLen(32).MaxLen(32).Immutable().Sensitive().Comment("SHA-256 of the cookie's secret"),
		field.String("member").Immutable().Comment("the name that the activity journal shows"),
		field.String("role").Immutable().Comment("owner or admin"),
		field.Time("expires_at").Immutable(),
		field.Time("ended_at").Optional().Nillable().Comment("when the member signed out"),
		createdAt(),
	}
}

// Indexes of sessions. The fingerprint is looked up before the store is known.
func (Session) Indexes() []ent.Index {
	return []ent.Index{index.Fields("fingerprint").Unique()}
}
