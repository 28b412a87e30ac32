package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Codec is the JSON of this package as a connect codec named "json". It also reads forms of typed
// clients that /v1 refuses: 64-bit integers as strings, enum values as numbers, and an enum's zero.
// It hides what it refuses in the message, where TakeInvalid finds it. The zero value is ready;
// goroutines may share it.
type Codec struct {
	// Strict applies the rules of /v1: a body may contain neither the identifier, which comes from
	// the path, nor the mask, which is filled from the names in the body.
	Strict bool
}

// bound are the JSON names that no body under /v1 may contain.
var bound = []string{"id", "updateMask"}

// Name returns "json".
func (Codec) Name() string { return "json" }

// IsBinary returns false: JSON is text.
func (Codec) IsBinary() bool { return false }

// Marshal returns the JSON of a proto.Message; anything else is an error.
func (c Codec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalStable is Marshal, whose bytes are always the same.
func (c Codec) MarshalStable(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend appends the JSON of a proto.Message; anything else is an error.
func (Codec) MarshalAppend(b []byte, message any) ([]byte, error) {
	m, err := asMessage(message)
	if err != nil {
		return nil, err
	}
	return Append(b, m), nil
}

// Unmarshal resets a proto.Message and reads data into it. Its only error is a value that is no
// message; faults of data are left for TakeInvalid.
func (c Codec) Unmarshal(data []byte, message any) error {
	m, err := asMessage(message)
	if err != nil {
		return err
	}
	var refused []string
	if c.Strict {
		refused = bound
	}
	if invalid := decode(data, m, !c.Strict, refused); invalid != nil {
		hide(m, invalid)
	}
	return nil
}

// CharsetCodec is Codec under the name that connect derives from the content type
// `application/json; charset=utf-8`.
type CharsetCodec struct{ Codec }

// Name returns "json; charset=utf-8".
func (CharsetCodec) Name() string { return "json; charset=utf-8" }

// BinaryCodec is the binary wire format as a connect codec named "proto". It hides invalid bytes in
// the message, where TakeInvalid finds them. The zero value is ready; goroutines may share it.
type BinaryCodec struct{}

// Name returns "proto".
func (BinaryCodec) Name() string { return "proto" }

// IsBinary returns true.
func (BinaryCodec) IsBinary() bool { return true }

// Marshal returns the wire format of a proto.Message; anything else is an error.
func (c BinaryCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend appends the wire format of a proto.Message; anything else is an error.
func (BinaryCodec) MarshalAppend(b []byte, message any) ([]byte, error) {
	m, err := asMessage(message)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{}.MarshalAppend(b, m)
}

// MarshalStable is Marshal with the entries of maps in order.
func (BinaryCodec) MarshalStable(message any) ([]byte, error) {
	m, err := asMessage(message)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// Unmarshal resets a proto.Message and reads data into it. Its only error is a value that is no
// message.
func (BinaryCodec) Unmarshal(data []byte, message any) error {
	m, err := asMessage(message)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(data, m); err != nil {
		proto.Reset(m)
		hide(m, &Invalid{Message: "The body is not a valid message of this method."})
		return nil
	}
	takeHidden(m.ProtoReflect()) // a client must not inject refusals
	return nil
}

func asMessage(v any) (proto.Message, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protocol buffers message", v)
	}
	return m, nil
}
