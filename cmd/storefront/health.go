package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/server/admin/rpc"
)

type healthCmd struct {
	AdminAddr string        `default:"127.0.0.1:8081" placeholder:"ADDR" help:"Address of the admin listener, as set for the server or worker."`
	Timeout   time.Duration `default:"3s" placeholder:"TIME" help:"How long to wait for the response."`
}

const maxHealthBytes = 512

// Run asks the server or worker on this machine.
func (c *healthCmd) Run(s *invocation) error {
	if _, _, err := net.SplitHostPort(c.AdminAddr); err != nil {
		return usage("--admin-addr: must be an address such as 127.0.0.1:8081, not %q", c.AdminAddr)
	}
	ctx, cancel := context.WithTimeout(s.ctx, c.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+doctor.Reachable(c.AdminAddr)+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("not ready: %w", cmp.Or(rpc.DialError("http://"+c.AdminAddr, err), err))
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxHealthBytes))
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	if s.json {
		return s.printValue(map[string]bool{"ready": true})
	}
	_, err = fmt.Fprintln(s.out, "ready")
	return err
}

// version and commit are set by a release's -ldflags "-X main.version=… -X main.commit=…", or come from the build information.
var version, commit string

type versionCmd struct{}

type build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	GoVersion string `json:"goVersion"`
}

func (versionCmd) Run(s *invocation) error { return s.printValue(buildOf()) }

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
