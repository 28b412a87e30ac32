// Package apijson encodes messages as JSON and decodes them. Clients of /v1, Connect JSON clients and webhook receivers read
// the same bytes: camelCase names in the order of declaration, no white space, 64-bit integers as numbers, times in UTC with
// milliseconds and a Z, and null for missing values.
//
// Decoding is strict and complete. Every refused field is listed, not only the first: unknown and repeated names, wrong JSON
// types, null where it is not allowed, text that is not Unicode. The package refuses only values that a field's type cannot
// hold; server/validate and server/shop check bounds and rules between fields.
package apijson

import (
	"strings"

	"google.golang.org/protobuf/proto"
)

// MessageRepeated is for a name that occurs more than once in one JSON object.
const MessageRepeated = "must be given once only"

// messageFields is the Message of an Invalid that has Fields.
const messageFields = "The request has invalid fields."

// Field is one refused field of a request.
type Field struct {
	// Name is the JSON or query name, with dots for nesting, such as pageSize or items[0].title.
	Name string
	// Message explains in English what the field may contain.
	Message string
}

// Invalid is a request whose text cannot be read as a message. Goroutines may share it while none changes it.
type Invalid struct {
	// Message is a sentence for the client.
	Message string
	// Fields are in the order of the text, each name once. It is empty if the text is not one valid JSON object.
	Fields []Field
}

// Error returns the message and every refused field, for the log.
func (e *Invalid) Error() string {
	var b strings.Builder
	b.WriteString("invalid request: ")
	b.WriteString(e.Message)
	for _, f := range e.Fields {
		b.WriteString(" " + f.Name + " " + f.Message + ".")
	}
	return b.String()
}

// Append appends the JSON of a message of the API to b. A number that JSON cannot express (NaN, infinities) becomes null.
func Append(b []byte, m proto.Message) []byte {
	return appendMessage(b, m)
}

// Marshal returns the JSON of m.
func Marshal(m proto.Message) []byte {
	return appendMessage(nil, m)
}

// Unmarshal resets m and reads the JSON object in data into it, under the rules of /v1. It refuses the top-level names in
// unknown, even if m has such fields. The error is an *Invalid; if it has Fields, m has every valid field of data.
//
// If m has a field update_mask that the text does not set, the mask is filled with the text's names, in order, except id, which
// is in the URL's path. A null for an optional field or a message leaves the field unset, but adds its name to the mask.
func Unmarshal(data []byte, m proto.Message, unknown ...string) error {
	if invalid := decode(data, m, false, unknown); invalid != nil {
		return invalid
	}
	return nil
}
