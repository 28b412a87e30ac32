package server

import (
	"strings"

	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// publicFiles are the definitions that reflection tells on the public listener: all but those of the
// operator's side.
type publicFiles struct{}

// FindFileByPath returns a file, or protoregistry.NotFound.
func (publicFiles) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if strings.HasPrefix(path, "storefront/admin/") {
		return nil, protoregistry.NotFound
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

// FindDescriptorByName returns what has a name, or protoregistry.NotFound.
func (publicFiles) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if strings.HasPrefix(string(name), "storefront.admin.") {
		return nil, protoregistry.NotFound
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}

// publicReflector tells the named services of the API.
func publicReflector(names []string) *grpcreflect.Reflector {
	return grpcreflect.NewReflector(grpcreflect.NamerFunc(func() []string { return names }), grpcreflect.WithDescriptorResolver(publicFiles{}))
}
