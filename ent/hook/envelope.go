package hook

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
)

// Forgotten takes the place of the payload of an event whose customer was forgotten. It is never sent.
const Forgotten = `{"forgotten":true}`

// Envelope returns a webhook event envelope (specification, Webhook event envelope): the bytes
// that are stored, signed and sent. data is encoded as the API encodes it.
func Envelope(id uuid.UUID, eventType string, at time.Time, storeID uuid.UUID, storeSlug string, data proto.Message) []byte {
	b := appendHead(make([]byte, 0, 1024), id, eventType, at, storeID, storeSlug)
	return append(apijson.Append(b, data), '}')
}

// PingEnvelope returns the envelope of a ping, whose data is an object with message and sentAt
// (specification, Event types). It is sent when it happens.
func PingEnvelope(id uuid.UUID, at time.Time, storeID uuid.UUID, storeSlug, message string) []byte {
	b := appendHead(make([]byte, 0, 384), id, Ping, at, storeID, storeSlug)
	b = apijson.AppendString(append(b, `{"message":`...), message)
	b = apijson.AppendTime(append(b, `,"sentAt":`...), at)
	return append(b, "}}"...)
}

// appendHead appends an envelope up to its data.
func appendHead(b []byte, id uuid.UUID, eventType string, at time.Time, storeID uuid.UUID, storeSlug string) []byte {
	b = apijson.AppendString(append(b, `{"id":`...), id.String())
	b = apijson.AppendString(append(b, `,"type":`...), eventType)
	b = apijson.AppendTime(append(b, `,"createdAt":`...), at)
	b = apijson.AppendString(append(b, `,"store":{"id":`...), storeID.String())
	b = apijson.AppendString(append(b, `,"slug":`...), storeSlug)
	return append(b, `},"data":`...)
}
