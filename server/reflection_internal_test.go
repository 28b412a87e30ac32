package server

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func TestReflectionDescribesTheHealthServiceUnderItsOwnName(t *testing.T) {
	t.Parallel()
	files := newPublicFiles()
	file, err := files.FindFileByPath("grpc/health/v1/health.proto")
	require.NoError(t, err)
	found, err := files.FindDescriptorByName("grpc.health.v1.Health")
	require.NoError(t, err)
	require.Equal(t, file, found.ParentFile())
	for _, name := range []protoreflect.Name{"Check", "Watch"} {
		method := found.(protoreflect.ServiceDescriptor).Methods().ByName(name)
		require.EqualValues(t, "grpc.health.v1.HealthCheckRequest", method.Input().FullName())
		require.EqualValues(t, "grpc.health.v1.HealthCheckResponse", method.Output().FullName())
		status := method.Output().Fields().ByName("status").Enum()
		require.EqualValues(t, "grpc.health.v1.HealthCheckResponse.ServingStatus", status.FullName())
		require.NotNil(t, status.Values().ByName("SERVING"))
	}
	_, err = files.FindDescriptorByName("storefront.admin.v1.StoreService")
	require.Error(t, err)
	_, err = files.FindDescriptorByName("storefront.v1.StoreService")
	require.NoError(t, err)
}
