package rpc

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// procedure is a method of the operator's side.
type procedure struct {
	input  protoreflect.MessageType // nil for reflection
	stream bool
}

// proceduresAt are the methods that a handler serves under a path, by their exact paths: those of
// the descriptor, and where there is none, that of reflection.
func proceduresAt(path string) map[string]procedure {
	found, _ := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.Trim(path, "/")))
	service, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		return map[string]procedure{path + "ServerReflectionInfo": {}}
	}
	all := map[string]procedure{}
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		input, _ := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName()) // nil is that of no generated message
		all[path+string(m.Name())] = procedure{input, m.IsStreamingServer()}
	}
	return all
}
