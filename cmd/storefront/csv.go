package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/importing"
)

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf reads the members of a JSON object in their order.
func membersOf(object []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.Join(err, errors.New("is no JSON object"))
	}
	var all []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// cells appends the names and values of an object's members to a CSV line each. A message in it has a column for each
// of its fields, also where it is null, so that a list's columns are always the same.
func cells(object []byte, of protoreflect.MessageDescriptor, prefix string, names, values *[]string) error {
	members, err := membersOf(object)
	if err != nil {
		return err
	}
	for _, m := range members {
		var inner protoreflect.MessageDescriptor
		if of != nil {
			if f := of.Fields().ByJSONName(m.name); f != nil && f.Cardinality() != protoreflect.Repeated && f.Message() != nil {
				inner = f.Message()
			}
		}
		if inner == nil || inner.ParentFile().Package() == "google.protobuf" { // such as a Timestamp
			*names, *values = append(*names, prefix+m.name), append(*values, importing.EscapeCell(csvText(m.value)))
			continue
		}
		null := bytes.Equal(m.value, []byte("null"))
		if null {
			m.value = apijson.Marshal(dynamicpb.NewMessage(inner))
		}
		from := len(*values)
		if err := cells(m.value, inner, prefix+m.name+".", names, values); err != nil {
			return err
		}
		if null {
			clear((*values)[from:])
		}
	}
	return nil
}

// csvText is a JSON value in a cell: a text without quotes, nothing for null, a list of texts with commas.
func csvText(value json.RawMessage) string {
	var text string
	var list []string
	switch { // by the first byte, because a failed Unmarshal costs more than all else of a row
	case bytes.Equal(value, []byte("null")):
		return ""
	case value[0] == '"' && json.Unmarshal(value, &text) == nil:
		return text
	case value[0] == '[' && json.Unmarshal(value, &list) == nil:
		return strings.Join(list, ",")
	}
	return string(value)
}

// writeCSV writes objects, of a message if they are one, below a line with the names of their members.
func writeCSV(w io.Writer, of protoreflect.MessageDescriptor, empty []byte, objects [][]byte) error {
	out := csv.NewWriter(w)
	var header, nothing []string
	if err := cells(empty, of, "", &header, &nothing); err != nil {
		return err
	}
	if err := out.Write(header); err != nil {
		return err
	}
	return addCSV(out, of, objects)
}

// addCSV writes further objects.
func addCSV(out *csv.Writer, of protoreflect.MessageDescriptor, objects [][]byte) error {
	for _, object := range objects {
		var names, values []string
		if err := cells(object, of, "", &names, &values); err != nil {
			return err
		}
		if err := out.Write(values); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
