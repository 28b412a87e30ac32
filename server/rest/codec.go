package rest

import (
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/wire"
)

// Vanguard decodes a request with its codec and encodes it again for Connect's, unless the address
// has no variable: then the body passes through it unread. The first byte of what it carries is which
// of the two it is.
const (
	markJSON   = 'j' // a body as the client sent it follows
	markBinary = 'b' // a message in the binary wire format follows
)

// strict reads bodies by the rules of /v1. What it refuses it hides in the message, where
// wire.TakeInvalid finds it.
var strict = wire.Codec{Strict: true}

// clientCodec is vanguard's codec for its clients.
type clientCodec struct{}

// Name returns the name of both codecs: for one name vanguard passes answers through.
func (clientCodec) Name() string { return strict.Name() }

// Unmarshal reads the client's body.
func (clientCodec) Unmarshal(data []byte, m proto.Message) error { return unmarshal(data, m) }

// MarshalAppend appends what handlerCodec reads. Of an answer it gets the errors only, whose body the
// edge replaces.
func (clientCodec) MarshalAppend(b []byte, m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(append(b, markBinary), m)
}

// handlerCodec is Connect's codec behind vanguard: it reads what clientCodec wrote, or the client's
// body, and writes the JSON that the client gets.
type handlerCodec struct{ wire.Codec }

// Unmarshal resets a proto.Message and reads data into it.
func (handlerCodec) Unmarshal(data []byte, m any) error { return unmarshal(data, m) }

func unmarshal(data []byte, m any) error {
	if len(data) == 0 {
		return nil // a body that broke off
	}
	if data[0] == markBinary {
		return proto.Unmarshal(data[1:], m.(proto.Message))
	}
	return strict.Unmarshal(data[1:], m)
}
