package wire

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
)

// Envelope returns a webhook event envelope (specification, Webhook event envelope): the bytes
// that are stored, signed and sent. data is spelled as the API spells it.
func Envelope(id uuid.UUID, eventType string, at time.Time, storeID uuid.UUID, storeSlug string, data proto.Message) []byte {
	b := appendHead(make([]byte, 0, 1024), id, eventType, at, storeID, storeSlug)
	return append(Append(b, data), '}')
}

// PingType is the type of the event that the test button sends. No webhook can subscribe to it.
const PingType = "ping"

// Ping returns the envelope of a ping, whose data is an object with message and sentAt
// (specification, Event types). It is sent when it happens.
func Ping(id uuid.UUID, at time.Time, storeID uuid.UUID, storeSlug, message string) []byte {
	b := appendHead(make([]byte, 0, 384), id, PingType, at, storeID, storeSlug)
	b = AppendString(append(b, `{"message":`...), message)
	b = AppendTime(append(b, `,"sentAt":`...), at)
	return append(b, "}}"...)
}

// appendHead appends an envelope up to its data.
func appendHead(b []byte, id uuid.UUID, eventType string, at time.Time, storeID uuid.UUID, storeSlug string) []byte {
	b = AppendString(append(b, `{"id":`...), id.String())
	b = AppendString(append(b, `,"type":`...), eventType)
	b = AppendTime(append(b, `,"createdAt":`...), at)
	b = AppendString(append(b, `,"store":{"id":`...), storeID.String())
	b = AppendString(append(b, `,"slug":`...), storeSlug)
	return append(b, `},"data":`...)
}
