package rpc

import (
	"net/http"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
)

// maxReflectionBytes bounds what reflection is asked: the name of a symbol.
const maxReflectionBytes = 4 << 10

// procedure is a method of the operator's side.
type procedure struct {
	bounds message.Bounds
	kind   message.Kind
	safe   bool // Connect may call it with GET
}

// proceduresAt are the methods that a handler serves under a path, by their exact paths: those of
// the descriptor, and where there is none, that of reflection.
func proceduresAt(path string) map[string]procedure {
	all := map[string]procedure{}
	found, _ := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.Trim(path, "/")))
	service, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		all[path+"ServerReflectionInfo"] = procedure{bounds: message.Bounds{Bytes: maxReflectionBytes}, kind: message.Bidi}
		return all
	}
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		options, _ := m.Options().(*descriptorpb.MethodOptions)
		p := procedure{
			bounds: message.Bounds{Bytes: MaxBodyBytes}, safe: options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS,
		}
		if m.IsStreamingServer() {
			p.kind, p.safe = message.ServerStream, false
		}
		all[path+string(m.Name())] = p
	}
	return all
}

// read checks a call and reads its message, so that Connect has nothing to refuse in its own words.
func (p procedure) read(w http.ResponseWriter, r *http.Request, fail func(error) error) (*http.Request, func(), error) {
	if r.Method != http.MethodPost && (r.Method != http.MethodGet || !p.safe) {
		w.Header().Set("Allow", map[bool]string{true: "GET, POST", false: "POST"}[p.safe])
		return nil, nil, apierr.New(apierr.MethodNotAllowed, "This address does not answer this method; see the Allow header.")
	}
	if err := message.Check(w, r, p.kind); err != nil {
		return nil, nil, err
	}
	if p.kind == message.Bidi {
		return p.bounds.Stream(w, r, fail), func() {}, nil
	}
	return p.bounds.Read(w, r)
}
