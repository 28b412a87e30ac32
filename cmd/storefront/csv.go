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

type member struct {
	name  string
	value json.RawMessage
}

// membersOf keeps the order. The values are subslices of object.
func membersOf(object []byte) (all []member, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
		return nil, errors.Join(err, errors.New("is no JSON object"))
	}
	all = make([]member, 0, 16)
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
		// Make m.value a part of object, because the next read overwrites value.
		end := d.InputOffset()
		m.value = object[end-int64(len(value)) : end]
		all = append(all, m)
	}
	return all, nil
}

// csvTable has a column for each member of a member that is an object (customer.name), empty if that is null.
type csvTable struct {
	*csv.Writer
	columns map[string]int
}

// newCSV writes the header line. sample has the members of all objects.
func newCSV(w io.Writer, sample []byte) (*csvTable, error) {
	t := &csvTable{csv.NewWriter(w), map[string]int{}}
	header := columnNames(sample, "")
	for i, name := range header {
		t.columns[name] = i
	}
	return t, t.WriteAll([][]string{header})
}

// columnNames puts prefix before each name: "" or, for the object in the member customer, "customer.".
func columnNames(object []byte, prefix string) (names []string) {
	members, _ := membersOf(object)
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

func (t *csvTable) add(objects [][]byte) error {
	row := make([]string, len(t.columns))
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

func (t *csvTable) fill(row []string, object []byte, prefix string) error {
	members, err := membersOf(object)
	for _, m := range members {
		if i, ok := t.columns[prefix+m.name]; ok {
			row[i] = importfile.EscapeCell(csvText(m.value))
		} else if m.value[0] == '{' {
			err = errors.Join(err, t.fill(row, m.value, prefix+m.name+"."))
		}
	}
	return err
}

// csvText returns texts without quotes, "" for null, texts of a list joined with commas, and other values as JSON.
func csvText(value json.RawMessage) string {
	switch jsontext.Value(value).Kind() {
	case 0, 'n':
		return ""
	case '"':
		text, _ := jsontext.AppendUnquote(nil, value)
		return string(text)
	case '[':
		// Unmarshal would need much time to fail on a list of objects.
		var list []string
		if !bytes.HasPrefix(value, []byte("[{")) && json.Unmarshal(value, &list) == nil {
			return strings.Join(list, ",")
		}
	}
	return string(value)
}

// withMessages sets each message field of m, so that the JSON of m shows all members.
func withMessages(m protoreflect.Message) protoreflect.Message {
	for i, fields := 0, m.Descriptor().Fields(); i < fields.Len(); i++ {
		f := fields.Get(i)
		if f.Message() != nil && f.Cardinality() != protoreflect.Repeated && f.Message().ParentFile().Package() != "google.protobuf" {
			withMessages(m.Mutable(f).Message())
		}
	}
	return m
}
