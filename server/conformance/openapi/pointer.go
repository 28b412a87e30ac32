package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Places in the document are JSON pointers (RFC 6901), without the # before them.

var escaper, unescaper = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

func escape(name string) string { return escaper.Replace(name) }

// find returns what is at a place, nil when nothing is.
func (d *Document) find(at string) any {
	value := d.root
	for _, step := range strings.Split(at, "/")[1:] {
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

// resolve follows the references from a place to the object that they end at.
func (d *Document) resolve(at string) (place string, node map[string]any, err error) {
	for range 10 {
		node, ok := d.find(at).(map[string]any)
		if !ok {
			return "", nil, fmt.Errorf("no object at %s", at)
		}
		ref, ok := node["$ref"].(string)
		if !ok {
			return at, node, nil
		}
		if at, ok = strings.CutPrefix(ref, "#"); !ok {
			return "", nil, fmt.Errorf("%s refers to another document", ref)
		}
	}
	return "", nil, fmt.Errorf("references at %s do not end", at)
}

func (d *Document) object(at string) (map[string]any, error) {
	_, node, err := d.resolve(at)
	return node, err
}

// decode reads one JSON value and nothing after it, numbers as they are spelt.
func decode(text []byte) (any, error) { return jsonschema.UnmarshalJSON(bytes.NewReader(text)) }

// integers are the formats of OpenAPI that JSON Schema does not know, by their bits
// (https://spec.openapis.org/registry/format/).
var integers = map[string]int{"int32": 32, "int64": 64}

// fits tells whether a number is a whole one of so many bits, one of them its sign; the least of all
// counts as one too many. What is no number has no such format.
func fits(value any, bits int) error {
	n, ok := value.(json.Number)
	if !ok {
		return nil
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || !r.IsInt() || r.Num().BitLen() >= bits {
		return fmt.Errorf("%s does not fit %d bits", n, bits)
	}
	return nil
}
