package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/cmd/storefront/importfile"
)

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of a JSON object in order. Their values are slices of it.
func membersOf(object []byte) (all []member, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
		return nil, errors.Join(err, errors.New("is no JSON object"))
	}
	all = make([]member, 0, 16) // few objects have more
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		end := d.InputOffset() // value itself is valid only until the next read
		m.value = object[end-int64(len(value)) : end]
		all = append(all, m)
	}
	return all, nil
}

// csvTable writes objects as lines of CSV. A member that is an object itself has one column for each of its members
// (customer.name, customer.email), also in lines where it is null.
type csvTable struct {
	*csv.Writer
	at map[string]int // column indexes by name
}

// newCSV begins a table for objects with the members of like.
func newCSV(w io.Writer, like []byte) (*csvTable, error) {
	t := &csvTable{csv.NewWriter(w), map[string]int{}}
	header := columnNames(like, "")
	for i, name := range header {
		t.at[name] = i
	}
	return t, t.WriteAll([][]string{header})
}

// columnNames returns the names of the columns of an object, or of an object inside of it.
func columnNames(object []byte, prefix string) (names []string) {
	members, _ := membersOf(object) // other values have no members
	for _, m := range members {
		name := prefix + m.name
		if inner := columnNames(m.value, name+"."); len(inner) > 0 {
			names = append(names, inner...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// add writes objects.
func (t *csvTable) add(objects [][]byte) error {
	row := make([]string, len(t.at))
	for _, object := range objects {
		clear(row)
		if err := t.fill(row, object, ""); err != nil {
			return err
		}
		if err := t.Write(row); err != nil {
			return err
		}
	}
	t.Flush()
	return t.Error()
}

// fill sets the cells of an object, or of an object inside of it.
func (t *csvTable) fill(row []string, object []byte, prefix string) error {
	members, err := membersOf(object)
	for _, m := range members {
		if i, is := t.at[prefix+m.name]; is {
			row[i] = importfile.EscapeCell(csvText(m.value))
		} else if m.value[0] == '{' {
			err = errors.Join(err, t.fill(row, m.value, prefix+m.name+"."))
		}
	}
	return err
}

// csvText returns a JSON value for a cell: a text without quotes, "" for null, a list of texts with commas.
func csvText(value json.RawMessage) string {
	switch jsontext.Value(value).Kind() {
	case 0, 'n': // missing or null
		return ""
	case '"':
		text, _ := jsontext.AppendUnquote(nil, value)
		return string(text)
	case '[':
		var list []string // not for lists of objects, because Unmarshal would need much time to fail
		if !bytes.HasPrefix(value, []byte("[{")) && json.Unmarshal(value, &list) == nil {
			return strings.Join(list, ",")
		}
	}
	return string(value)
}

// withMessages returns an empty message whose message fields are set to empty messages, so that its JSON shows all members.
func withMessages(m protoreflect.Message) protoreflect.Message {
	for i, fields := 0, m.Descriptor().Fields(); i < fields.Len(); i++ {
		f := fields.Get(i)
		if f.Message() != nil && f.Cardinality() != protoreflect.Repeated && f.Message().ParentFile().Package() != "google.protobuf" {
			withMessages(m.Mutable(f).Message())
		}
	}
	return m
}
