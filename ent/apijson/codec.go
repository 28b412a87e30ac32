package apijson

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Codec is a connect codec named "json". It also reads forms that typed clients send and /v1 refuses: 64-bit integers as
// strings, enum values as numbers, an enum's zero, and fields' names in the .proto files. Goroutines may share it.
type Codec struct{}

// Name returns "json".
func (Codec) Name() string { return "json" }

// IsBinary returns false, because JSON is text.
func (Codec) IsBinary() bool { return false }

// Marshal takes a proto.Message; anything else is an error.
func (c Codec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalStable is Marshal, which always returns the same bytes for a message.
func (c Codec) MarshalStable(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend takes a proto.Message; anything else is an error.
func (Codec) MarshalAppend(b []byte, message any) ([]byte, error) {
	m, err := asMessage(message)
	if err != nil {
		return nil, err
	}
	return Append(b, m), nil
}

// Unmarshal resets a proto.Message and reads data into it. If it refuses data, the error is an *Invalid. A value that is not a
// proto.Message is also an error.
func (Codec) Unmarshal(data []byte, message any) error {
	m, err := asMessage(message)
	if err != nil {
		return err
	}
	if invalid := decode(data, m, true, nil); invalid != nil {
		return invalid
	}
	return nil
}

func asMessage(v any) (proto.Message, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protocol buffers message", v)
	}
	return m, nil
}
