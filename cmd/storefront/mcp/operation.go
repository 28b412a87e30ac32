package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"go.storefront.example/gen/openapi"
)

type operation struct {
	ID, Method, Path, Scope string
	summary, description    string
	// inPath and inQuery are parameters. With body, all other arguments are members of the body.
	inPath, inQuery []string
	body            bool
	// schema is that of the tool's arguments: the parameters and the members of the body together.
	schema map[string]any
}

type document struct {
	Paths map[string]map[string]struct {
		OperationID string                `json:"operationId"`
		Summary     string                `json:"summary"`
		Description string                `json:"description"`
		Security    []map[string][]string `json:"security"`
		Parameters  []struct {
			Name        string         `json:"name"`
			In          string         `json:"in"`
			Description string         `json:"description"`
			Required    bool           `json:"required"`
			Schema      map[string]any `json:"schema"`
		} `json:"parameters"`
		RequestBody *struct {
			Content map[string]struct {
				Schema map[string]any `json:"schema"`
			} `json:"content"`
		} `json:"requestBody"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]map[string]any `json:"schemas"`
	} `json:"components"`
}

func operations() ([]operation, error) {
	var d document
	if err := json.Unmarshal([]byte(openapi.Document), &d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	var all []operation
	for path, methods := range d.Paths {
		for method, o := range methods {
			op := operation{
				ID: o.OperationID, Method: strings.ToUpper(method), Path: path, Scope: o.Security[0]["apiKey"][0],
				summary: o.Summary, description: o.Description,
			}
			properties, required := map[string]any{}, []any{}
			for _, p := range o.Parameters {
				schema := d.plain(p.Schema).(map[string]any)
				schema["description"] = p.Description
				properties[p.Name] = schema
				if p.In == "path" {
					op.inPath = append(op.inPath, p.Name)
				} else {
					op.inQuery = append(op.inQuery, p.Name)
				}
				if p.Required {
					required = append(required, p.Name)
				}
			}
			if o.RequestBody != nil {
				op.body = true
				schema := d.plain(o.RequestBody.Content["application/json"].Schema).(map[string]any)
				fields, _ := schema["properties"].(map[string]any)
				for name, field := range fields {
					if _, taken := properties[name]; taken {
						return nil, fmt.Errorf("%s: %s is a parameter and a field of the body", op.ID, name)
					}
					properties[name] = field
				}
				more, _ := schema["required"].([]any)
				required = append(required, more...)
			}
			op.schema = map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
			if len(required) > 0 {
				op.schema["required"] = required
			}
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// plain replaces references. It leaves out patterns, extensions, and all formats but date-time, which do not help an agent.
func (d *document) plain(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = d.plain(one)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		if ref, ok := v["$ref"].(string); ok {
			out = d.plain(maps.Clone(d.Components.Schemas[ref[strings.LastIndexByte(ref, '/')+1:]])).(map[string]any)
		}
		for name, one := range v {
			if name != "$ref" && name != "pattern" && (name != "format" || one == "date-time") && !strings.HasPrefix(name, "x-") {
				out[name] = d.plain(one)
			}
		}
		return out
	}
	return v
}

func (op operation) reads() bool { return op.Method == http.MethodGet }

// risk is the harm of the probe if the service did not refuse it, from 0 (none) to 3; allowed sends the one with the lowest. A
// read, or the name of an object that does not exist, changes nothing. Every other has a body that the service refuses.
func (op operation) risk() int {
	switch {
	case op.reads() && len(op.inPath) == 0:
		return 0
	case len(op.inPath) > 0 && op.body:
		return 1
	case len(op.inPath) > 0:
		return 2
	}
	return 3
}

// tool marks a change of an existing object as destructive, because its old values are lost.
func (op operation) tool() *sdk.Tool {
	destructive, open := op.Method != http.MethodPost && !op.reads(), false
	return &sdk.Tool{
		Name: op.ID, Title: op.summary, InputSchema: op.schema,
		Description: op.summary + ". " + op.description,
		Annotations: &sdk.ToolAnnotations{
			Title: op.summary, ReadOnlyHint: op.reads(), DestructiveHint: &destructive, IdempotentHint: op.Method != http.MethodPost,
			OpenWorldHint: &open,
		},
	}
}

type request struct {
	method, path string
	query        url.Values
	body         []byte
}

const noID = "00000000-0000-0000-0000-000000000000"

// probe is answered only for a key with the operation's scope, and changes nothing.
func (op operation) probe() request {
	r := request{method: op.Method, path: op.Path, query: url.Values{}}
	for _, name := range op.inPath {
		r.path = strings.ReplaceAll(r.path, "{"+name+"}", noID)
	}
	if slices.Contains(op.inQuery, "pageSize") {
		r.query.Set("pageSize", "1")
	}
	if op.body {
		r.body = []byte("[]")
	}
	return r
}

// pathValue matches an id, or a text for which the API answers 404.
var pathValue = regexp.MustCompile(`^[0-9A-Za-z_-]+$`)

// request returns the request of a tool's call. Its error is a sentence for the agent.
func (op operation) request(arguments json.RawMessage) (request, error) {
	r := request{method: op.Method, path: op.Path, query: url.Values{}}
	var given map[string]json.RawMessage
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return r, fmt.Errorf("the arguments must be a JSON object")
		}
	}
	for _, name := range op.inPath {
		var value string
		if err := json.Unmarshal(given[name], &value); err != nil || !pathValue.MatchString(value) {
			return r, fmt.Errorf("%s must be a UUID, as the lists show it", name)
		}
		r.path = strings.ReplaceAll(r.path, "{"+name+"}", value)
		delete(given, name)
	}
	for name, value := range given {
		if op.body && !slices.Contains(op.inQuery, name) || bytes.Equal(value, []byte("null")) {
			continue
		}
		text := string(value)
		_ = json.Unmarshal(value, &text) // a value that is no JSON text is used as it is
		r.query.Set(name, text)
		delete(given, name)
	}
	if !op.body {
		return r, nil
	}
	if given == nil {
		given = map[string]json.RawMessage{}
	}
	for name, value := range given {
		given[name] = op.number(name, value)
	}
	var err error
	r.body, err = json.Marshal(given)
	return r, err
}

var integerText = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// number takes a text such as "1500" or "null" for an integer, because some agents send that.
func (op operation) number(field string, value json.RawMessage) json.RawMessage {
	properties, _ := op.schema["properties"].(map[string]any)
	schema, _ := properties[field].(map[string]any)
	var kinds []any
	switch kind := schema["type"].(type) {
	case string:
		kinds = []any{kind}
	case []any:
		kinds = kind
	}
	var text string
	if !slices.Contains(kinds, any("integer")) || json.Unmarshal(value, &text) != nil {
		return value
	}
	if text = strings.TrimSpace(text); integerText.MatchString(text) || text == "null" && slices.Contains(kinds, any("null")) {
		return json.RawMessage(text)
	}
	return value
}
