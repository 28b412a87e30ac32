package client

import (
	"runtime/debug"
	"strings"
	"sync"
)

const (
	// module is the path of the module that this package belongs to.
	module = "go.storefront.example"
	// unreleased is the version if the caller's build information does not have it.
	unreleased = "devel"
)

// agent is this package's name in User-Agent, with the version of its module in the caller's program: storefront-go/1.2.3.
var agent = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return "storefront-go/" + versionIn(info)
})

// versionIn returns the version of this package's module in a program, without the v. It returns devel in this repository, if a
// folder replaces the module, or if the program has no build information (nil).
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
