package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Session is a member who is signed in to a store's dashboard. Only the fingerprint of the cookie's secret is stored. The id is
// the sign-in link's.
type Session struct{ ent.Schema }

// Fields of a session.
func (Session) Fields() []ent.Field {
	return []ent.Field{
		id(),
		storeID(),
		field.Bytes("fingerprint").MinLen(32).MaxLen(32).Immutable().Sensitive().Comment("SHA-256 of the cookie's secret"),
		field.String("member").Immutable().Comment("the name that the activity journal shows"),
		field.String("role").Immutable().Comment("owner or admin"),
		origin(),
		field.Time("expires_at"),
		field.Time("last_used_at").Optional().Nillable().Comment("to the minute or so"),
		field.Time("ended_at").Optional().Nillable().Comment("when the member signed out or the session was revoked"),
		createdAt(),
	}
}

// Indexes of sessions. The fingerprint is looked up without a store.
func (Session) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("fingerprint").Unique(),
		index.Fields("store_id", "created_at", "id"),
	}
}

// origin is where a member uses the dashboard, such as https://dashboard.example.com. It is null in rows older than the column,
// which count as https.
func origin() ent.Field {
	return field.String("origin").Optional().Immutable().Comment("scheme and host of the sign-in link")
}
