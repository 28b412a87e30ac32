package edge

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// method is a method of the API, or one that needs no key.
type method struct {
	http.Handler        // handles calls in the typed protocols
	procedure    string // /storefront.v1.ProductService/GetProduct
	input        protoreflect.MessageType

	scope string // empty if the method needs no key
	safe  bool   // whether Connect clients may call the method by GET
	// verb and template are such as GET and /v1/products/{id}; empty for a method that needs no key.
	verb, template string
	hasBody        bool
	// variable is the field that the template's variable sets, or nil. before and after are the texts around it.
	variable      protoreflect.FieldDescriptor
	before, after string
	// parameters are the query parameters by JSON name; nil if the method has a body.
	parameters map[string]protoreflect.FieldDescriptor
}

// readMethods adds the methods of a service's descriptor by procedure.
func readMethods(s Service, into map[string]*method) error {
	name := protoreflect.FullName(strings.Trim(s.Path, "/"))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return fmt.Errorf("edge: service %s: %w", name, err)
	}
	service, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return fmt.Errorf("edge: %s is not a service", name)
	}
	for i := range service.Methods().Len() {
		m, err := newMethod(service.Methods().Get(i))
		if err != nil {
			return fmt.Errorf("edge: method %s: %w", service.Methods().Get(i).FullName(), err)
		}
		m.Handler = s.Handler
		into[m.procedure] = m
	}
	return nil
}

func newMethod(d protoreflect.MethodDescriptor) (*method, error) {
	if d.IsStreamingClient() || d.IsStreamingServer() {
		return nil, errors.New("streams are not served")
	}
	m := &method{procedure: "/" + string(d.Parent().FullName()) + "/" + string(d.Name())}
	var err error
	if m.input, err = protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName()); err != nil {
		return nil, err
	}
	if m.scope, _ = proto.GetExtension(d.Options(), storefrontv1.E_Scope).(string); m.scope == "" {
		return nil, errors.New("no scope")
	}
	if o, ok := d.Options().(*descriptorpb.MethodOptions); ok {
		m.safe = o.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
	}
	switch rule, _ := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule); {
	case rule.GetGet() != "":
		m.verb, m.template = http.MethodGet, rule.GetGet()
	case rule.GetPost() != "":
		m.verb, m.template, m.hasBody = http.MethodPost, rule.GetPost(), rule.GetBody() != ""
	case rule.GetPatch() != "":
		m.verb, m.template, m.hasBody = http.MethodPatch, rule.GetPatch(), rule.GetBody() != ""
	default:
		return nil, errors.New("no HTTP binding to GET, POST or PATCH")
	}
	m.parameters = map[string]protoreflect.FieldDescriptor{}
	fields := d.Input().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if before, after, found := strings.Cut(m.template, "{"+string(fd.Name())+"}"); found {
			m.variable, m.before, m.after = fd, before, after
		} else if !m.hasBody {
			m.parameters[fd.JSONName()] = fd
		}
	}
	return m, nil
}
