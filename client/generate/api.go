package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

type api struct {
	Enums     []*enum
	Models    []*model
	Events    []*event
	Resources []*resource
}

// enum may lack a value that an answer of a newer service contains.
type enum struct {
	Name, Doc string
	Values    []value
}

type value struct{ Text, Doc string }

// model is an object in answers and events.
type model struct {
	Name, Doc string
	Fields    []*field
}

// Needed returns the fields without which a client refuses an object: ids, and those of a page that tell a loop whether more
// follow. An older service or a recorded event lacks newer fields.
func (m *model) Needed() []string {
	var names []string
	for _, f := range m.Fields {
		if f.Name == "id" || strings.HasSuffix(m.Name, "Page") {
			names = append(names, f.Name)
		}
	}
	return names
}

// field is a member of a model, or an argument of an operation.
type field struct {
	Name, Doc string
	// Kind is string, integer, number, time, enum, model, list or map.
	Kind string
	// Format is int32 or int64 for an integer.
	Format string
	// Type is the name of the enum, the model or a list's items.
	Type     string
	Nullable bool
	Required bool
}

// event is a type of event; Data is the model of its data.
type event struct{ Name, Type, Doc, Data string }

// resource is a group of operations: a tag of the document.
type resource struct {
	Name, Doc  string
	Operations []*operation
}

type operation struct {
	// ID is the operationId. Action is the client's method.
	ID, Action, Doc string
	Method, Path    string
	HasID           bool
	// Query and Body are the arguments in the query and in the body.
	Query, Body []*field
	// Result is the model of the answer. Item is the model of a page's items.
	Result, Item string
	// Repeatable is true if the request has the same effect sent twice.
	Repeatable bool
}

// Change is true for an update, in which an omitted argument leaves its field unchanged, and null clears it.
func (o *operation) Change() bool { return o.Method == "PATCH" }

// Arguments returns the required ones first.
func (o *operation) Arguments() []*field {
	all := slices.Concat(o.Body, o.Query)
	slices.SortStableFunc(all, func(a, b *field) int {
		rank := func(f *field) int {
			switch {
			case f.Required:
				return 0
			case f.Name == "page" || f.Name == "pageSize":
				return 2
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	return all
}

// document has the parts that read uses, with pairs where the order of members matters.
type document struct {
	Tags  []struct{ Name, Description string }
	Paths pairs[map[string]struct {
		OperationID, Summary, Description string
		Tags                              []string
		Parameters                        []struct {
			Name, In, Description string
			Required              bool
			Schema                schema
		}
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema schema }
		}
	}]
	Components struct{ Schemas pairs[schema] }
}

type schema struct {
	Ref                  string `json:"$ref"`
	Description          string
	Type                 any
	Format               string
	Enum                 []string
	Words                []string `json:"x-extensible-enum"`
	Required             []string
	Properties           pairs[schema]
	Items                *schema
	OneOf                []schema
	AdditionalProperties any
	Discriminator        struct{ Mapping pairs[string] }
}

// pairs is a JSON object that keeps the order of its members.
type pairs[T any] []pair[T]

type pair[T any] struct {
	Name  string
	Value T
}

func (p *pairs[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		entry := pair[T]{Name: name.(string)}
		if err := d.Decode(&entry.Value); err != nil {
			return err
		}
		*p = append(*p, entry)
	}
	return nil
}

func (p pairs[T]) get(name string) (found T) {
	for _, entry := range p {
		if entry.Name == name {
			return entry.Value
		}
	}
	return found
}

type reader struct {
	*document
	*api
	seen map[string]bool
}

func read(text []byte) (*api, error) {
	r := &reader{&document{}, &api{}, map[string]bool{}}
	if err := json.Unmarshal(text, r.document); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	for _, s := range r.Components.Schemas {
		if s.Value.Enum != nil && s.Name != "ListPaymentLinksRequestStatus" {
			r.addEnum(s.Name, s.Value.Description, s.Value.Enum)
		}
	}
	// In the document this enum has the name of its request message. The clients call it PaymentLinkFilter.
	links := r.Components.Schemas.get("ListPaymentLinksRequestStatus")
	r.addEnum("PaymentLinkFilter", links.Description, links.Enum)
	code := r.Components.Schemas.get("Error").Properties.get("code")
	r.addEnum("ErrorCode", code.Description, code.Words)
	if err := errors.Join(r.events(), r.operations()); err != nil {
		return nil, err
	}
	return r.api, nil
}

// operations are grouped by tag, in the document's order.
func (r *reader) operations() error {
	for _, tag := range r.Tags {
		res := &resource{Name: pascal(tag.Name), Doc: tag.Description}
		for _, path := range r.Paths {
			for _, method := range []string{"get", "post", "patch"} {
				o, ok := path.Value[method]
				if !ok || !slices.Contains(o.Tags, tag.Name) {
					continue
				}
				op := &operation{ID: o.OperationID, Doc: o.Description, Method: strings.ToUpper(method), Path: path.Name}
				op.Action = regexp.MustCompile("^[a-z]+").FindString(o.OperationID)
				op.HasID = strings.Contains(path.Name, "{id}")
				// Reads, updates, creating a customer and enabling a link can be repeated (see the guide). A new POST operation
				// needs to be added here.
				op.Repeatable = method != "post" || slices.Contains([]string{"createCustomer", "enablePaymentLink"}, o.OperationID)
				for _, p := range o.Parameters {
					if p.In != "query" {
						continue
					}
					f, err := r.field("", p.Name, p.Schema)
					if err != nil {
						return err
					}
					f.Doc = p.Description
					op.Query = append(op.Query, f)
				}
				if body := o.RequestBody.Content["application/json"].Schema; body.Ref != "" {
					fields, err := r.fields("", r.Components.Schemas.get(name(body.Ref)))
					if err != nil {
						return err
					}
					op.Body = fields
				}
				answer := o.Responses["200"]
				if answer.Content == nil {
					answer = o.Responses["201"]
				}
				op.Result = name(answer.Content["application/json"].Schema.Ref)
				if err := r.model(op.Result); err != nil {
					return fmt.Errorf("%s: %w", op.ID, err)
				}
				if op.Action == "list" {
					op.Item = name(r.Components.Schemas.get(op.Result).Properties.get("data").Items.Ref)
				}
				res.Operations = append(res.Operations, op)
			}
		}
		if res.Operations != nil {
			r.Resources = append(r.Resources, res)
		}
	}
	return nil
}

// events reads the data of payment_link.paid as an Order, whose schema differs only in that the payment link is always present.
func (r *reader) events() error {
	types := enum{Name: "EventType", Doc: "The types of events."}
	for _, mapping := range r.Components.Schemas.get("Event").Discriminator.Mapping {
		s := r.Components.Schemas.get(name(mapping.Value))
		data := name(s.Properties.get("data").Ref)
		if data == "PaymentLinkOrder" {
			data = "Order"
		}
		r.Events = append(r.Events, &event{Name: name(mapping.Value), Type: mapping.Name, Doc: s.Description, Data: data})
		types.Values = append(types.Values, value{mapping.Name, oneLine(s.Description)})
		if err := r.model(data); err != nil {
			return err
		}
	}
	r.Enums = append(r.Enums, &types)
	return r.model("EventStore")
}

// model adds a schema, after those that its fields name, unless it is there.
func (r *reader) model(name string) error {
	if r.seen[name] {
		return nil
	}
	r.seen[name] = true
	s := r.Components.Schemas.get(name)
	fields, err := r.fields(name, s)
	if err != nil {
		return err
	}
	if len(fields) == 0 {
		return fmt.Errorf("%s has no properties", name)
	}
	r.Models = append(r.Models, &model{name, s.Description, fields})
	return nil
}

// fields returns the properties of a schema. owner is the model's name, empty for a request.
func (r *reader) fields(owner string, s schema) ([]*field, error) {
	var all []*field
	for _, p := range s.Properties {
		f, err := r.field(owner, p.Name, p.Value)
		if err != nil {
			return nil, err
		}
		f.Required = slices.Contains(s.Required, p.Name)
		all = append(all, f)
	}
	return all, nil
}

func (r *reader) field(owner, property string, s schema) (*field, error) {
	f := &field{Name: property, Doc: s.Description, Format: s.Format}
	kind, _ := s.Type.(string)
	if several, ok := s.Type.([]any); ok && len(several) == 2 && several[1] == "null" {
		kind, f.Nullable = several[0].(string), true
	}
	if len(s.OneOf) == 2 && s.OneOf[1].Type == "null" {
		s.Ref, f.Nullable = s.OneOf[0].Ref, true
	}
	switch {
	case s.Ref != "" && r.Components.Schemas.get(name(s.Ref)).Enum != nil:
		f.Kind, f.Type = "enum", r.enumOf(r.Components.Schemas.get(name(s.Ref)).Enum)
	case s.Ref != "":
		f.Kind, f.Type = "model", name(s.Ref)
		return f, r.model(f.Type)
	case s.Words != nil:
		f.Kind, f.Type = "enum", r.enumOf(s.Words)
		if f.Type == "" {
			f.Type = owner + strings.ToUpper(property[:1]) + property[1:]
			r.addEnum(f.Type, s.Description, s.Words)
		}
	case kind == "string" && s.Format == "date-time":
		f.Kind = "time"
	case kind == "string" || kind == "integer" || kind == "number":
		f.Kind = kind
	case kind == "array" && s.Items.Ref != "":
		f.Kind, f.Type = "list", name(s.Items.Ref)
		return f, r.model(f.Type)
	case kind == "object" && reflect.DeepEqual(s.AdditionalProperties, map[string]any{"type": "string"}):
		f.Kind = "map"
	default:
		return nil, fmt.Errorf("%s.%s has a schema that no client can express: %+v", owner, property, s)
	}
	return f, nil
}

// enumOf returns the enum with these values in this order, or "".
func (r *reader) enumOf(values []string) string {
	for _, e := range r.Enums {
		if slices.EqualFunc(e.Values, values, func(a value, b string) bool { return a.Text == b }) {
			return e.Name
		}
	}
	return ""
}

// valueDoc matches a line of an enum's description: "- `PAID`: Paid."
var valueDoc = regexp.MustCompile("(?m)^- `([^`]+)`(?: \\(\\d+\\))?: (.*)$")

func (r *reader) addEnum(name, description string, values []string) {
	docs := map[string]string{}
	for _, m := range valueDoc.FindAllStringSubmatch(description, -1) {
		docs[m[1]] = m[2]
	}
	e := &enum{Name: name, Doc: oneLine(description)}
	for _, v := range values {
		e.Values = append(e.Values, value{v, docs[v]})
	}
	r.Enums = append(r.Enums, e)
}

// name returns the last part of a reference.
func name(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// pascal returns PaymentLinks for "Payment links".
func pascal(text string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(text) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
