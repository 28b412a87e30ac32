package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// method is a method of the API as its descriptor tells it: the scope it asks for, its messages,
// and its address under /v1.
type method struct {
	descriptor protoreflect.MethodDescriptor
	procedure  string // /storefront.v1.ProductService/GetProduct
	scope      string
	input      protoreflect.MessageType
	safe       bool // Connect may call it with GET

	verb     string // GET, POST or PATCH; empty when it has no address under /v1
	template string // /v1/products/{id}
	hasBody  bool
	// id is the field that the path's variable fills, nil when there is none.
	id protoreflect.FieldDescriptor
	// parameters are the query parameters of a method without a body, by JSON name.
	parameters map[string]protoreflect.FieldDescriptor
	// refused are the JSON names that a body may not hold although the message has them.
	refused []string
	// stand is the path that vanguard finds the method by, whatever the identifier is.
	stand string
}

// newMethods reads the methods of a service from its descriptor.
func newMethods(path string) ([]*method, error) {
	name := protoreflect.FullName(strings.Trim(path, "/"))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("rest: service %s: %w", name, err)
	}
	service, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("rest: %s is not a service", name)
	}
	methods := make([]*method, service.Methods().Len())
	for i := range methods {
		if methods[i], err = newMethod(service.Methods().Get(i)); err != nil {
			return nil, fmt.Errorf("rest: method %s: %w", service.Methods().Get(i).FullName(), err)
		}
	}
	return methods, nil
}

func newMethod(d protoreflect.MethodDescriptor) (*method, error) {
	if d.IsStreamingClient() || d.IsStreamingServer() {
		return nil, errors.New("streams are not served")
	}
	input, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
	if err != nil {
		return nil, err
	}
	options := d.Options()
	m := &method{
		descriptor: d,
		procedure:  "/" + string(d.Parent().FullName()) + "/" + string(d.Name()),
		input:      input,
	}
	m.scope, _ = proto.GetExtension(options, storefrontv1.E_Scope).(string)
	if m.scope == "" {
		return nil, errors.New("no scope")
	}
	if o, ok := options.(*descriptorpb.MethodOptions); ok {
		m.safe = o.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
	}
	rule, _ := proto.GetExtension(options, annotations.E_Http).(*annotations.HttpRule)
	if rule == nil {
		return m, nil
	}
	return m, m.bind(rule)
}

// bind reads the method's address under /v1: a path of literals with at most one variable, which
// is a string field, and the whole message or nothing as the body.
func (m *method) bind(rule *annotations.HttpRule) error {
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		m.verb, m.template = http.MethodGet, p.Get
	case *annotations.HttpRule_Post:
		m.verb, m.template = http.MethodPost, p.Post
	case *annotations.HttpRule_Patch:
		m.verb, m.template = http.MethodPatch, p.Patch
	default:
		return fmt.Errorf("HTTP binding %v is of no form that is served", rule)
	}
	if !underV1(m.template) || len(rule.GetAdditionalBindings()) > 0 || rule.GetResponseBody() != "" ||
		(rule.GetBody() != "" && rule.GetBody() != "*") {
		return fmt.Errorf("HTTP binding %v is of no form that is served", rule)
	}
	m.hasBody = rule.GetBody() == "*"
	m.stand = m.template
	fields := m.descriptor.Input().Fields()
	if before, after, ok := strings.Cut(m.template, "{"); ok {
		name, rest, _ := strings.Cut(after, "}")
		m.id = fields.ByName(protoreflect.Name(name))
		if m.id == nil || m.id.Kind() != protoreflect.StringKind || strings.Contains(rest, "{") {
			return fmt.Errorf("the path %s has another variable than one string field", m.template)
		}
		m.stand = before + "-" + rest
		m.refused = append(m.refused, m.id.JSONName())
	}
	if mask := fields.ByName("update_mask"); mask != nil {
		m.refused = append(m.refused, mask.JSONName())
	}
	m.parameters = map[string]protoreflect.FieldDescriptor{}
	for i := range fields.Len() {
		if fd := fields.Get(i); !m.hasBody && fd != m.id {
			m.parameters[fd.JSONName()] = fd
		}
	}
	if len(m.parameters) > 64 {
		return errors.New("more than 64 query parameters")
	}
	return nil
}

// resource is one address under /v1 and the methods it answers.
type resource struct {
	template string
	// before and after enclose the variable; without one, before is the whole path.
	before, after string
	methods       []*method
	allow         []string
}

// routes find the resource of a path. They never change once made.
type routes struct {
	literal   map[string]*resource
	variable  []*resource
	resources []*resource // all of them
}

func newRoutes(methods []*method) (*routes, error) {
	t := &routes{literal: map[string]*resource{}}
	byTemplate := map[string]*resource{}
	for _, m := range methods {
		if m.verb == "" {
			continue
		}
		res := byTemplate[m.template]
		if res == nil {
			res = &resource{template: m.template, before: m.template}
			byTemplate[m.template] = res
			t.resources = append(t.resources, res)
			if before, after, ok := strings.Cut(m.template, "{"); ok {
				_, res.after, _ = strings.Cut(after, "}")
				res.before = before
				t.variable = append(t.variable, res)
			} else {
				t.literal[m.template] = res
			}
		}
		if res.method(m.verb) != nil {
			return nil, fmt.Errorf("rest: %s %s has two methods", m.verb, m.template)
		}
		res.methods = append(res.methods, m)
	}
	for _, res := range byTemplate {
		verbs := []string{}
		for _, m := range res.methods {
			verbs = append(verbs, m.verb)
			if m.verb == http.MethodGet {
				verbs = append(verbs, http.MethodHead)
			}
		}
		slices.Sort(verbs)
		res.allow = []string{strings.Join(verbs, ", ")}
	}
	return t, nil
}

// find returns the resource at the path, which is taken as it stands in the request, and the
// text of its variable. Nothing is cleaned: a doubled or trailing slash, a dot segment or an
// escaped literal leads nowhere. The variable is not unescaped, for no identifier has anything
// to escape: with an escape in it, it is one more text that identifies nothing.
func (t *routes) find(path string) (*resource, string) {
	if res := t.literal[path]; res != nil {
		return res, ""
	}
	for _, res := range t.variable {
		rest, ok := strings.CutPrefix(path, res.before)
		if !ok {
			continue
		}
		id, ok := strings.CutSuffix(rest, res.after)
		if !ok || id == "" || id == "." || id == ".." || strings.IndexByte(id, '/') >= 0 {
			continue
		}
		return res, id
	}
	return nil, ""
}

// method returns the method that answers an HTTP method, HEAD being GET; nil when none does.
func (r *resource) method(verb string) *method {
	if verb == http.MethodHead {
		verb = http.MethodGet
	}
	for _, m := range r.methods {
		if m.verb == verb {
			return m
		}
	}
	return nil
}
