// Package wire encodes messages as JSON and decodes them. A client of /v1, a Connect JSON client
// and a webhook's receiver read the same bytes, in every binary: names in camelCase and in the order
// of declaration, no white space, 64-bit integers as numbers, moments in UTC with milliseconds and a
// Z, and null for what is absent.
//
// Decoding is strict and complete. Every refused field is listed, not only the first: unknown and
// repeated names, wrong JSON types, null where there is no null, text that is not Unicode. The
// package refuses what a field's type cannot hold and nothing else; bounds and rules between
// fields are the service's.
package wire

import (
	"strings"

	"google.golang.org/protobuf/proto"
)

// MessageRepeated is the Message of a Field whose name stands more than once in one JSON object.
const MessageRepeated = "must be given once only"

// messageFields is the Message of an Invalid that has Fields.
const messageFields = "The request has invalid fields."

// Field is one refused field of a request.
type Field struct {
	// Name is the JSON or query name, dotted for nesting, such as pageSize or items[0].title.
	Name string
	// Message says in English what the field may hold.
	Message string
}

// Invalid is the error of a request that cannot be read as the message it should be. Goroutines
// may share it as long as none changes it.
type Invalid struct {
	// Message is a sentence for the client.
	Message string
	// Fields are the refused fields in the order in which they were met, each name once. It is
	// empty when the text as a whole could not be read.
	Fields []Field
}

// Error tells the message and every refused field, for the log.
func (e *Invalid) Error() string {
	var b strings.Builder
	b.WriteString("invalid request: ")
	b.WriteString(e.Message)
	for _, f := range e.Fields {
		b.WriteString(" " + f.Name + " " + f.Message + ".")
	}
	return b.String()
}

// Append appends the JSON spelling of m to b. It accepts every message, of whatever package, and
// cannot fail; a number that JSON cannot spell (NaN, an infinity) is null.
func Append(b []byte, m proto.Message) []byte {
	return appendMessage(b, m)
}

// Marshal returns the JSON spelling of m.
func Marshal(m proto.Message) []byte {
	return appendMessage(nil, m)
}

// Unmarshal resets m and reads the JSON object in data into it, under the rules of /v1. Top-level
// names in unknown are refused as if the message did not have them. The error is an *Invalid; if
// it has Fields, m holds every field that was fine.
//
// A message with a field update_mask that the text does not set gets a mask of the names that the
// text does have, in their order; id, which is bound to the path, is not among them. Null for an
// optional field or for a message leaves the field unset, and the mask names it.
func Unmarshal(data []byte, m proto.Message, unknown ...string) error {
	if invalid := decode(data, m, false, unknown); invalid != nil {
		return invalid
	}
	return nil
}
