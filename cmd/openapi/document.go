package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"

	"go.storefront.example/server/apierr"
)

// document has those parts of an OpenAPI 3.1 document that this program uses, in the order in which it writes them
// (https://spec.openapis.org/oas/v3.1.1.html).
type document struct {
	OpenAPI    string              `json:"openapi"`
	Info       info                `json:"info"`
	Servers    []server            `json:"servers"`
	Security   []ordered[[]string] `json:"security,omitempty"`
	Tags       []tag               `json:"tags"`
	Paths      ordered[*pathItem]  `json:"paths"`
	Webhooks   ordered[*pathItem]  `json:"webhooks"`
	Components components          `json:"components"`
}

type info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Summary     string `json:"summary,omitempty"`
	Description string `json:"description,omitempty"`
}

type server struct {
	URL         string                   `json:"url"`
	Description string                   `json:"description,omitempty"`
	Variables   ordered[*serverVariable] `json:"variables"`
}

type serverVariable struct {
	Default     string `json:"default"`
	Description string `json:"description,omitempty"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type pathItem struct {
	Get        *operation  `json:"get,omitempty"`
	Post       *operation  `json:"post,omitempty"`
	Patch      *operation  `json:"patch,omitempty"`
	Parameters []parameter `json:"parameters,omitempty"`
}

type operation struct {
	Tags        []string            `json:"tags,omitempty"`
	Summary     string              `json:"summary,omitempty"`
	Description string              `json:"description,omitempty"`
	OperationID string              `json:"operationId,omitempty"`
	Security    []ordered[[]string] `json:"security"`
	Parameters  []*parameter        `json:"parameters,omitempty"`
	RequestBody *requestBody        `json:"requestBody,omitempty"`
	Responses   ordered[*response]  `json:"responses"`
}

type parameter struct {
	Ref         string  `json:"$ref,omitempty"`
	Name        string  `json:"name,omitempty"`
	In          string  `json:"in,omitempty"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Schema      *schema `json:"schema,omitempty"`
	Example     any     `json:"example,omitempty"`
}

type requestBody struct {
	Description string              `json:"description,omitempty"`
	Content     ordered[*mediaType] `json:"content"`
	Required    bool                `json:"required,omitempty"`
}

type response struct {
	Ref         string              `json:"$ref,omitempty"`
	Description string              `json:"description,omitempty"`
	Headers     ordered[*header]    `json:"headers,omitzero"`
	Content     ordered[*mediaType] `json:"content,omitzero"`
	// Codes are the error codes that the answer can have in this release.
	Codes []apierr.Code `json:"x-error-codes,omitempty"`
}

type header struct {
	Ref         string  `json:"$ref,omitempty"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Schema      *schema `json:"schema,omitempty"`
}

type mediaType struct {
	Schema   *schema           `json:"schema,omitempty"`
	Examples ordered[*example] `json:"examples,omitzero"`
}

type example struct {
	Summary string          `json:"summary,omitempty"`
	Value   json.RawMessage `json:"value"`
}

type components struct {
	SecuritySchemes ordered[*securityScheme] `json:"securitySchemes,omitzero"`
	Parameters      ordered[*parameter]      `json:"parameters,omitzero"`
	Headers         ordered[*header]         `json:"headers,omitzero"`
	Responses       ordered[*response]       `json:"responses,omitzero"`
	Schemas         ordered[*schema]         `json:"schemas"`
}

type securityScheme struct {
	Type         string `json:"type"`
	Scheme       string `json:"scheme"`
	BearerFormat string `json:"bearerFormat,omitempty"`
	Description  string `json:"description,omitempty"`
}

// schema is a JSON Schema in the dialect of OpenAPI 3.1.
type schema struct {
	Ref         string `json:"$ref,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Type        types  `json:"type,omitempty"`
	Format      string `json:"format,omitempty"`
	Pattern     string `json:"pattern,omitempty"`
	Enum        []any  `json:"enum,omitempty"`
	// Words are the texts that a value can be in this release. Later releases may add texts. Generators know the name of
	// this extension (https://opensource.zalando.com/restful-api-guidelines/#112).
	Words                []string         `json:"x-extensible-enum,omitempty"`
	Default              any              `json:"default,omitempty"`
	MinLength            *int             `json:"minLength,omitempty"`
	MaxLength            *int             `json:"maxLength,omitempty"`
	Minimum              *int64           `json:"minimum,omitempty"`
	Maximum              *int64           `json:"maximum,omitempty"`
	MaxItems             *int64           `json:"maxItems,omitempty"`
	Items                *schema          `json:"items,omitempty"`
	Required             []string         `json:"required,omitempty"`
	Properties           ordered[*schema] `json:"properties,omitzero"`
	AdditionalProperties any              `json:"additionalProperties,omitempty"`
	OneOf                []*schema        `json:"oneOf,omitempty"`
	Discriminator        *discriminator   `json:"discriminator,omitempty"`
	Examples             []any            `json:"examples,omitempty"`
	// Details, in the schema of the error body, maps each code that has details to the name of the field with these details.
	Details ordered[string] `json:"x-details,omitzero"`
}

type discriminator struct {
	PropertyName string          `json:"propertyName"`
	Mapping      ordered[string] `json:"mapping,omitzero"`
}

// types are the values of the keyword type. A single value is written as a string, several are written as an array.
type types []string

func (t types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

func (t *types) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(t))
	}
	*t = types{""}
	return json.Unmarshal(text, &(*t)[0])
}

// ordered is a JSON object that keeps the order of its members.
type ordered[T any] struct {
	names  []string
	values map[string]T
}

// singleton returns an object with one member.
func singleton[T any](name string, value T) ordered[T] {
	var o ordered[T]
	o.set(name, value)
	return o
}

func (o *ordered[T]) get(name string) T { return o.values[name] }

func (o *ordered[T]) has(name string) bool {
	_, ok := o.values[name]
	return ok
}

// set sets the value of a member. A new member is added at the end. An existing one keeps its position.
func (o *ordered[T]) set(name string, value T) {
	if o.values == nil {
		o.values = map[string]T{}
	}
	if !o.has(name) {
		o.names = append(o.names, name)
	}
	o.values[name] = value
}

func (o ordered[T]) all() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, name := range o.names {
			if !yield(name, o.values[name]) {
				return
			}
		}
	}
}

// IsZero reports whether the object has no members. encoding/json calls it for omitzero.
func (o ordered[T]) IsZero() bool { return len(o.names) == 0 }

func (o ordered[T]) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, name := range o.names {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := encode(name)
		if err != nil {
			return nil, err
		}
		value, err := encode(o.values[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}

func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	*o = ordered[T]{}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		var value T
		if err := decode(raw, &value); err != nil {
			return fmt.Errorf("%v: %w", name, err)
		}
		o.set(name.(string), value)
	}
	return nil
}

// encode returns value as JSON in which <, > and & are not escaped.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// decode reads JSON into value. It returns an error for a field that value's type lacks, so that no part of the plugin's
// output is lost unnoticed.
func decode(text []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(value)
}
