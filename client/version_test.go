package client

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionInAProgram(t *testing.T) {
	t.Parallel()
	mine := func(version string, replaced *debug.Module) []*debug.Module {
		return []*debug.Module{{Path: "connectrpc.com/connect", Version: "v1.21.1"}, {Path: module, Version: version,
			Replace: replaced}}
	}
	for _, test := range []struct {
		name, want string
		info       *debug.BuildInfo
	}{
		{"a release", "1.4.2", &debug.BuildInfo{Deps: mine("v1.4.2", nil)}},
		{"a fork", "1.4.3", &debug.BuildInfo{Deps: mine("v1.4.2", &debug.Module{Path: "fork.example", Version: "v1.4.3"})}},
		{"a folder in its place", unreleased, &debug.BuildInfo{Deps: mine("v0.0.0", &debug.Module{Path: "../clone"})}},
		{"this repository", unreleased, &debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}},
		{"a tool of this repository, installed", "1.4.2", &debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.4.2"}}},
		{"no build information", unreleased, nil},
		{"another module", unreleased, &debug.BuildInfo{Main: debug.Module{Path: "other.example", Version: "v3.0.0"}}},
	} {
		require.Equal(t, test.want, versionIn(test.info), test.name)
	}
}
