package main

import (
	"runtime"
	"runtime/debug"
)

// version and commit are set by the build of a release, with -ldflags "-X main.version=… -X
// main.commit=…"; without it they come from what the Go command writes into the binary.
var version, commit string

type versionCmd struct{}

// build is what is known of the binary.
type build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	GoVersion string `json:"goVersion"`
}

// Run shows the version.
func (versionCmd) Run(s *session) error { return s.value(buildOf()) }

func buildOf() build {
	b := build{Version: version, Commit: commit, GoVersion: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		if b.Version == "" {
			b.Version = info.Main.Version
		}
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" && b.Commit == "" {
				b.Commit = setting.Value
			}
		}
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	if b.Commit == "" {
		b.Commit = "unknown"
	}
	return b
}
