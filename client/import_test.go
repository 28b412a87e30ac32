package client_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// But generated code and libraries.
func TestImportingTheClientBringsNoServer(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go", "connectrpc.com/connect", "go.storefront.example",
		"google.golang.org/genproto/googleapis/api", "google.golang.org/protobuf",
	}
	rooms := []string{
		"go.storefront.example/client", "go.storefront.example/client/webhook",
		"go.storefront.example/gen/storefront/v1", "go.storefront.example/gen/storefront/v1/storefrontv1connect",
		"go.storefront.example/worker/signature",
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{$.ImportPath}}{{end}}", ".",
		"./webhook")
	out, err := list.Output()
	require.NoError(t, err)
	var own []string
	for line := range strings.Lines(string(out)) {
		module, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		require.Contains(t, allowed, module, name)
		if module == "go.storefront.example" {
			own = append(own, name)
		}
	}
	require.ElementsMatch(t, rooms, own)
}
