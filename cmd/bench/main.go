// Bench measures the service and breaks it. It runs a built storefront program in processes of its own on loopback addresses,
// with a database that it makes and removes. It measures neither a network nor reads from a disk, because the page cache is
// warm.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit codes are those of the service's commands: the command failed, or the command line is wrong.
const (
	exitFailed = 1
	exitUsage  = 2
)

type commands struct {
	API      apiCommand      `cmd:"" default:"withargs" name:"api" help:"Measure the public API (the default)."`
	Lists    listsCommand    `cmd:"" help:"Measure lists of orders in stores of several sizes."`
	Webhooks webhooksCommand `cmd:"" help:"Measure the way from a commit to the delivery of its event."`
	Chaos    chaosCommand    `cmd:"" help:"Kill processes under load and account for every event."`
	History  historyCommand  `cmd:"" help:"Check whether the answers under faults could have come from one store."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// streams are the outputs of a command: out gets its result, err its progress.
type streams struct{ out, err io.Writer }

func (s streams) progress(format string, args ...any) { fmt.Fprintf(s.err, format+"\n", args...) }

func run(ctx context.Context, args []string, out, stderr io.Writer) int {
	var c commands
	parser, err := kong.New(&c, kong.Name("bench"), kong.Writers(out, stderr),
		kong.Description("Measures the service, and breaks it."), kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	if err := command.Run(streams{out, stderr}); err != nil {
		if ctx.Err() != nil { // the interrupt caused the error, whatever it is
			err = errors.New("interrupted")
		}
		fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	return 0
}

// serviceFlags are the flags that all commands have.
type serviceFlags struct {
	Binary string `type:"path" placeholder:"FILE" help:"The storefront program; without it, it is built."`
}

// databaseFlags are the flags of the commands that measure.
type databaseFlags struct {
	DatabaseURL string `name:"database-url" placeholder:"URL" help:"URL of a PostgreSQL server on which the user may create databases; without it SQLite is measured."`
}

func (f *databaseFlags) check() error {
	scheme, _, _ := strings.Cut(f.DatabaseURL, ":")
	if f.DatabaseURL != "" && scheme != "postgres" && scheme != "postgresql" {
		return errors.New("--database-url must be postgres://…")
	}
	return nil
}

// atLeast refuses values of flags below least or above 100 million.
func atLeast(least int, flags map[string]int) error {
	for flag, value := range flags {
		if value < least || value > 100_000_000 {
			return fmt.Errorf("--%s must be a whole number from %d", flag, least)
		}
	}
	return nil
}

// workspace has the folder for the files of a run, and the program to run.
type workspace struct{ folder, binary string }

// open builds the program unless --binary names one. workspace.close removes the folder.
func (f *serviceFlags) open(ctx context.Context) (workspace, error) {
	folder, err := os.MkdirTemp("", "storefront-bench-")
	if err != nil {
		return workspace{}, err
	}
	w := workspace{folder, f.Binary}
	if w.binary == "" {
		w.binary, err = buildService(ctx, folder)
	}
	if err != nil {
		return w, errors.Join(err, w.close())
	}
	return w, nil
}

func (w workspace) close() error { return os.RemoveAll(w.folder) }

const (
	serviceModule  = "go.storefront.example"
	servicePackage = "./cmd/storefront"
)

// buildService builds in the program's own module, because the dependencies must have the versions of a release.
func buildService(ctx context.Context, folder string) (path string, err error) {
	path = filepath.Join(folder, "storefront")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", serviceModule).Output()
	if err != nil {
		return "", fmt.Errorf("find %s (or name a built program with --binary): %w", serviceModule, err)
	}
	build := exec.CommandContext(ctx, "go", "-C", strings.TrimSpace(string(module)), "build", "-o", path, servicePackage)
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", servicePackage, err, strings.TrimSpace(string(text)))
	}
	return path, nil
}
