package client

import (
	"runtime/debug"
	"strings"
	"sync"
)

const (
	module = "go.storefront.example"
	// unreleased is for build information without the version.
	unreleased = "devel"
)

// agent is this package in User-Agent: storefront-go/1.2.3.
var agent = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return "storefront-go/" + versionIn(info)
})

// versionIn returns the version of this module in a program, without the v. It is devel in this repository, if a folder
// replaces the module, or without build information (nil).
func versionIn(info *debug.BuildInfo) string {
	if info == nil {
		return unreleased
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != module {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if version, released := strings.CutPrefix(m.Version, "v"); released {
			return version
		}
	}
	return unreleased
}
