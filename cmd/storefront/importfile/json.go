package importfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.storefront.example/server/transfer"
)

// jsonList reads objects: of an array, or of one inside an object, as in {"customers":[…]}. A file may have several of these,
// one after the other.
type jsonList struct {
	decoder *json.Decoder
	// path leads to the list; empty if the file is an array.
	path     []string
	encoding textEncoding
	// onSkip gets the path of each member that does not lead to the list, for the report.
	onSkip func(name string)
	inside bool
	number int
	broken bool
}

func newJSONList(text io.Reader, path []string, e textEncoding) *jsonList {
	return &jsonList{decoder: json.NewDecoder(text), path: path, encoding: e, onSkip: func(string) {}}
}

// next returns the next object and its number, from 1.
func (l *jsonList) next() ([]byte, int, error) {
	if l.broken {
		return nil, 0, io.EOF
	}
	var object json.RawMessage
	err := l.advance()
	if errors.Is(err, io.EOF) {
		return nil, 0, io.EOF
	}
	l.number++
	if err == nil {
		err = unexpected(l.decoder.Decode(&object))
	}
	switch {
	case err != nil:
		l.broken = true
		return nil, 0, &LineError{Line: l.number, Problem: "is no JSON: " + err.Error() + "; what follows it was not read"}
	case l.encoding.unreadable(string(object)):
		return object, l.number, &LineError{Line: l.number, Problem: l.encoding.problem(), Value: string(object)}
	}
	return object, l.number, nil
}

// advance returns io.EOF after the last object.
func (l *jsonList) advance() error {
	for {
		if l.inside && l.decoder.More() {
			return nil
		}
		var err error
		if l.inside {
			l.inside = false
			_, err = l.token()
			for depth := len(l.path); depth > 0 && err == nil; depth-- {
				if _, err = l.find(l.path[:depth-1], ""); err == nil {
					_, err = l.token()
				}
			}
		} else {
			err = l.enter()
		}
		if err != nil {
			return err
		}
	}
}

// enter moves into the next list of the file, or returns io.EOF.
func (l *jsonList) enter() error {
	for i := range len(l.path) + 1 {
		opening, want := json.Delim('['), "a list"
		if i < len(l.path) {
			opening, want = '{', "an object with a list "+strings.Join(l.path, ".")
		}
		token, err := l.decoder.Token()
		switch {
		case err != nil && (i > 0 || !errors.Is(err, io.EOF)):
			return unexpected(err)
		case err != nil:
			return io.EOF
		case token != opening:
			return fmt.Errorf("%v stands where %s must", token, want)
		case i < len(l.path):
			if found, err := l.find(l.path[:i], l.path[i]); err != nil {
				return err
			} else if !found {
				return errors.New("an object has no list " + strings.Join(l.path, "."))
			}
		}
	}
	l.inside = true
	return nil
}

// find skips members up to the value of name, all if name is "", and reports whether there is one.
func (l *jsonList) find(path []string, name string) (bool, error) {
	for l.decoder.More() {
		member, err := l.token()
		if err != nil {
			return false, err
		}
		if member == name && name != "" {
			return true, nil
		}
		l.onSkip(strings.Join(append(slices.Clone(path), fmt.Sprint(member)), "."))
		if err := skipValue(l.decoder, 0); err != nil {
			return false, err
		}
	}
	return false, nil
}

// token returns io.ErrUnexpectedEOF at the end of the text.
func (l *jsonList) token() (json.Token, error) {
	token, err := l.decoder.Token()
	return token, unexpected(err)
}

// unexpected replaces io.EOF, for a text that ends within a list or an object.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// skipValue skips the next value or, if depth lists and objects of it are open, its rest.
func skipValue(d *json.Decoder, depth int) error {
	for {
		token, err := d.Token()
		if err != nil {
			return unexpected(err)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// listFinder finds the list of rows in the first object, unless that is itself a row.
type listFinder struct {
	kind transfer.Kind
	// lists are the paths of the arrays of objects; members are the names of the other members.
	lists   [][]string
	members []string
	// named is the path of the list whose name is the kind, such as customers, or nil.
	named []string
}

// findListPath returns nil if the first object has members that a row needs, or no list of objects.
func findListPath(text io.Reader, t *table, kind transfer.Kind) ([]string, error) {
	w := listFinder{kind: kind}
	d := json.NewDecoder(text)
	if _, err := d.Token(); err != nil {
		return nil, nil //nolint:nilerr // The reader of lines reports the invalid line.
	}
	err := w.scan(d, nil)
	if w.named != nil || err != nil {
		return w.named, nil //nolint:nilerr // The reader of lines reports the invalid line.
	}
	isRow := slices.ContainsFunc(slices.Concat(needed[kind], keys[kind]), func(fields []string) bool {
		return slices.ContainsFunc(w.members, func(name string) bool { return slices.Contains(fields, t.fields[normalize(name)]) })
	})
	w.lists = slices.DeleteFunc(w.lists, func(path []string) bool { return t.fields[normalize(strings.Join(path, "."))] == "items" })
	switch {
	case isRow || len(w.lists) == 0:
		return nil, nil
	case len(w.lists) > 1:
		names := make([]string, len(w.lists))
		for i, path := range w.lists {
			names[i] = strings.Join(path, ".")
		}
		return nil, &FileError{fmt.Sprintf("the file is an object with several lists, of which none is named %s: %s; import a file with "+
			"one of them", kind, shortList(names))}
	}
	return w.lists[0], nil
}

// scan adds the object's lists and other members. It stops at a list that is named like the kind.
func (w *listFinder) scan(d *json.Decoder, path []string) error {
	for d.More() {
		member, err := d.Token()
		if err != nil {
			return err
		}
		at := append(slices.Clone(path), fmt.Sprint(member))
		value, err := d.Token()
		if err != nil {
			return err
		}
		switch value {
		case json.Delim('{'):
			if err := w.scan(d, at); err != nil || w.named != nil {
				return err
			}
		case json.Delim('['):
			depth, empty := 1, !d.More()
			first, err := d.Token()
			if err != nil {
				return err
			}
			if first == json.Delim('{') || empty && normalize(fmt.Sprint(member)) == string(w.kind) {
				if normalize(fmt.Sprint(member)) == string(w.kind) {
					w.named = at
					return nil
				}
				w.lists = append(w.lists, at)
			}
			switch first {
			case json.Delim('{'), json.Delim('['):
				depth++
			case json.Delim(']'):
				depth--
			}
			if depth > 0 {
				if err := skipValue(d, depth); err != nil {
					return err
				}
			}
		default:
			w.members = append(w.members, strings.Join(at, "."))
		}
	}
	_, err := d.Token()
	return err
}
