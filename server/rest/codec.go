package rest

import (
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/wire"
)

// Vanguard decodes a request with its codec and encodes it again for Connect's. If the path has no
// variable, it passes the body through unread. The first byte shows which.
const (
	markJSON   = 'j' // a body as the client sent it follows
	markBinary = 'b' // a message in the binary wire format follows
)

// strict reads bodies by the rules of /v1. It hides what it refused in the message, where
// wire.TakeInvalid finds it.
var strict = wire.Codec{Strict: true}

// clientCodec is vanguard's codec for its clients.
type clientCodec struct{}

// Name returns the name of both codecs: vanguard passes responses through if the names are equal.
func (clientCodec) Name() string { return strict.Name() }

// Unmarshal reads the client's body.
func (clientCodec) Unmarshal(data []byte, m proto.Message) error { return unmarshal(data, m) }

// MarshalAppend appends the bytes for handlerCodec. For responses it gets only errors, whose body
// the edge replaces.
func (clientCodec) MarshalAppend(b []byte, m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(append(b, markBinary), m)
}

// handlerCodec is Connect's codec behind vanguard. It reads the bytes of clientCodec, or the
// client's body, and writes the JSON of the response.
type handlerCodec struct{ wire.Codec }

// Unmarshal resets a proto.Message and reads data into it.
func (handlerCodec) Unmarshal(data []byte, m any) error { return unmarshal(data, m) }

func unmarshal(data []byte, m any) error {
	if len(data) == 0 {
		return nil // the body was incomplete
	}
	if data[0] == markBinary {
		return proto.Unmarshal(data[1:], m.(proto.Message))
	}
	return strict.Unmarshal(data[1:], m)
}
