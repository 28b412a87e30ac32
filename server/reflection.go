package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// publicFiles has the definitions that reflection shows on the public listener: all but the admin services.
type publicFiles struct{ health protoregistry.Files }

// newPublicFiles panics if healthProto is wrong, which depends on no request.
func newPublicFiles() *publicFiles {
	p := &publicFiles{}
	file, err := healthFile()
	if err == nil {
		err = p.health.RegisterFile(file)
	}
	if err != nil {
		panic(fmt.Sprintf("the descriptor of the health service: %v", err))
	}
	return p
}

func (p *publicFiles) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if strings.HasPrefix(path, "storefront/admin/") {
		return nil, protoregistry.NotFound
	}
	if file, err := p.health.FindFileByPath(path); err == nil {
		return file, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

func (p *publicFiles) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if strings.HasPrefix(string(name), "storefront.admin.") {
		return nil, protoregistry.NotFound
	}
	if d, err := p.health.FindDescriptorByName(name); err == nil {
		return d, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}

// healthProto is gRPC's health service, a FileDescriptorProto. grpchealth's descriptor has other names, and Go's package of
// gRPC would link all of gRPC.
const healthProto = `
name: "grpc/health/v1/health.proto" package: "grpc.health.v1" syntax: "proto3"
message_type { name: "HealthCheckRequest" field { name: "service" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING } }
message_type {
  name: "HealthCheckResponse"
  field {
    name: "status" number: 1 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".grpc.health.v1.HealthCheckResponse.ServingStatus"
  }
  enum_type {
    name: "ServingStatus" value { name: "UNKNOWN" number: 0 } value { name: "SERVING" number: 1 }
    value { name: "NOT_SERVING" number: 2 } value { name: "SERVICE_UNKNOWN" number: 3 }
  }
}
service {
  name: "Health"
  method { name: "Check" input_type: ".grpc.health.v1.HealthCheckRequest" output_type: ".grpc.health.v1.HealthCheckResponse" }
  method {
    name: "Watch" input_type: ".grpc.health.v1.HealthCheckRequest" output_type: ".grpc.health.v1.HealthCheckResponse"
    server_streaming: true
  }
}`

func healthFile() (protoreflect.FileDescriptor, error) {
	var file descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(healthProto), &file); err != nil {
		return nil, err
	}
	return protodesc.NewFile(&file, nil)
}

// reflection returns the handlers of both versions of gRPC reflection, by path, for the services in names and the health
// service.
func reflection(names []string, options ...connect.HandlerOption) map[string]http.Handler {
	reflector := grpcreflect.NewReflector(grpcreflect.NamerFunc(func() []string {
		return append(slices.Clone(names), grpchealth.HealthV1ServiceName)
	}), grpcreflect.WithDescriptorResolver(newPublicFiles()))
	path, handler := grpcreflect.NewHandlerV1(reflector, options...)
	alpha, alphaHandler := grpcreflect.NewHandlerV1Alpha(reflector, options...)
	return map[string]http.Handler{path + "ServerReflectionInfo": handler, alpha + "ServerReflectionInfo": alphaHandler}
}
