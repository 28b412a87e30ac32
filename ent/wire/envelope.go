package wire

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
)

// Envelope returns a webhook event envelope (specification, Webhook event envelope): the bytes
// that are stored, signed and sent. data is spelled as the API spells it.
func Envelope(id uuid.UUID, eventType string, at time.Time, storeID uuid.UUID, storeSlug string, data proto.Message) []byte {
	b := make([]byte, 0, 1024)
	b = AppendString(append(b, `{"id":`...), id.String())
	b = AppendString(append(b, `,"type":`...), eventType)
	b = AppendTime(append(b, `,"createdAt":`...), at)
	b = AppendString(append(b, `,"store":{"id":`...), storeID.String())
	b = AppendString(append(b, `,"slug":`...), storeSlug)
	b = Append(append(b, `},"data":`...), data)
	return append(b, '}')
}
