package server

import (
	"net/http"
	"strings"

	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.storefront.example/server/message"
	"go.storefront.example/server/rest"
)

// publicFiles are the definitions that reflection shows on the public listener: all except the
// operator's.
type publicFiles struct{}

// FindFileByPath returns a file, or protoregistry.NotFound.
func (publicFiles) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if strings.HasPrefix(path, "storefront/admin/") {
		return nil, protoregistry.NotFound
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

// FindDescriptorByName returns the descriptor with a name, or protoregistry.NotFound.
func (publicFiles) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if strings.HasPrefix(string(name), "storefront.admin.") {
		return nil, protoregistry.NotFound
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}

// openReflection returns gRPC reflection for the named services of the API, in both its versions.
func openReflection(options rest.OpenOptions, names []string) []rest.Open {
	reflector := grpcreflect.NewReflector(grpcreflect.NamerFunc(func() []string { return names }), grpcreflect.WithDescriptorResolver(publicFiles{}))
	open := func(path string, handler http.Handler) rest.Open {
		return rest.Open{Procedure: path + "ServerReflectionInfo", Kind: message.Bidi, Handler: handler}
	}
	return []rest.Open{
		open(grpcreflect.NewHandlerV1(reflector, options(message.Bidi)...)),
		open(grpcreflect.NewHandlerV1Alpha(reflector, options(message.Bidi)...)),
	}
}
