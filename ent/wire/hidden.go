package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// If a codec returns an error, the request ends there: connect answers with its own text, without
// the rate headers and the other refused fields. So our codecs put their refusals into the message,
// as an unknown field of this number, and the first code that gets the message takes them out. The
// number is the highest of the wire format, which no schema of ours uses.
const hiddenNumber = protowire.MaxValidNumber

// hide stores an Invalid in m. The field holds strings, one after the other: the message, then the
// name and the message of each field.
func hide(m proto.Message, invalid *Invalid) {
	content := protowire.AppendString(nil, invalid.Message)
	for _, f := range invalid.Fields {
		content = protowire.AppendString(content, f.Name)
		content = protowire.AppendString(content, f.Message)
	}
	r := m.ProtoReflect()
	unknown := protowire.AppendTag(r.GetUnknown(), hiddenNumber, protowire.BytesType)
	r.SetUnknown(protowire.AppendBytes(unknown, content))
}

// TakeInvalid returns what Codec or BinaryCodec refused when it read m, and removes it from m; nil
// if it refused nothing. Call it before the message is compared, sent on or marshalled.
func TakeInvalid(m proto.Message) *Invalid {
	content := takeHidden(m.ProtoReflect())
	if content == nil {
		return nil
	}
	invalid := &Invalid{}
	invalid.Message, content = takeString(content)
	for len(content) > 0 {
		var f Field
		f.Name, content = takeString(content)
		f.Message, content = takeString(content)
		invalid.Fields = append(invalid.Fields, f)
	}
	return invalid
}

// takeHidden removes every field of the hidden number from the unknown fields of m and returns
// the content of the last.
func takeHidden(m protoreflect.Message) []byte {
	unknown := m.GetUnknown()
	if len(unknown) == 0 {
		return nil
	}
	var kept, content []byte
	for len(unknown) > 0 {
		number, kind, tag := protowire.ConsumeTag(unknown)
		size := protowire.ConsumeFieldValue(number, kind, unknown[max(tag, 0):])
		if tag < 0 || size < 0 {
			break // cannot happen: proto.Unmarshal kept these bytes
		}
		switch {
		case number != hiddenNumber:
			kept = append(kept, unknown[:tag+size]...)
		case kind == protowire.BytesType:
			content, _ = protowire.ConsumeBytes(unknown[tag:])
		}
		unknown = unknown[tag+size:]
	}
	m.SetUnknown(kept)
	return content
}

func takeString(b []byte) (string, []byte) {
	s, n := protowire.ConsumeString(b)
	if n < 0 {
		return "", nil
	}
	return s, b[n:]
}
