package server

import (
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	_ "google.golang.org/grpc/health/grpc_health_v1" // registers grpc.health.v1 under its usual file name
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// publicFiles finds the definitions that reflection shows on the public listener: all but those of the admin services.
type publicFiles struct{}

// FindFileByPath returns the file with this path, or protoregistry.NotFound.
func (publicFiles) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if strings.HasPrefix(path, "storefront/admin/") {
		return nil, protoregistry.NotFound
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

// FindDescriptorByName returns the descriptor with this name, or protoregistry.NotFound.
func (publicFiles) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if strings.HasPrefix(string(name), "storefront.admin.") {
		return nil, protoregistry.NotFound
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}

// healthService is the name of the gRPC health service.
const healthService = "grpc.health.v1.Health"

// reflection returns the handlers of both versions of gRPC reflection, by path. They show the services in names and the
// health service.
func reflection(names []string, options ...connect.HandlerOption) map[string]http.Handler {
	reflector := grpcreflect.NewReflector(grpcreflect.NamerFunc(func() []string {
		return append(slices.Clone(names),
			healthService)
	}), grpcreflect.WithDescriptorResolver(publicFiles{}))
	path, handler := grpcreflect.NewHandlerV1(reflector, options...)
	alpha, alphaHandler := grpcreflect.NewHandlerV1Alpha(reflector, options...)
	return map[string]http.Handler{path + "ServerReflectionInfo": handler, alpha + "ServerReflectionInfo": alphaHandler}
}
