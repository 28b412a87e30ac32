package openapi

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A place in the document is a JSON pointer (RFC 6901) without the leading #.

var escaper, unescaper = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

func escape(name string) string { return escaper.Replace(name) }

func (d *Document) find(pointer string) any {
	value := d.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = unescaper.Replace(step)
		switch node := value.(type) {
		case map[string]any:
			value = node[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(node) {
				return nil
			}
			value = node[i]
		default:
			return nil
		}
	}
	return value
}

// resolve returns the object at a place, or the one to which it refers, with its place.
func (d *Document) resolve(pointer string) (place string, node map[string]any, err error) {
	for range 10 {
		node, ok := d.find(pointer).(map[string]any)
		if !ok {
			return "", nil, fmt.Errorf("no object at %s", pointer)
		}
		ref, ok := node["$ref"].(string)
		if !ok {
			return pointer, node, nil
		}
		if pointer, ok = strings.CutPrefix(ref, "#"); !ok {
			return "", nil, fmt.Errorf("%s refers to another document", ref)
		}
	}
	return "", nil, fmt.Errorf("references at %s do not end", pointer)
}

func (d *Document) object(pointer string) (map[string]any, error) {
	_, node, err := d.resolve(pointer)
	return node, err
}

// decode parses exactly one JSON value. Numbers keep their text.
func decode(text []byte) (any, error) { return jsonschema.UnmarshalJSON(bytes.NewReader(text)) }
