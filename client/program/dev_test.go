package program_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dev is a development server, as it tells of itself.
type dev struct {
	storefront         string // the command
	URL, AdminURL, Key string
}

// startDev builds the command and starts the development server on free ports and an empty folder.
func startDev(t *testing.T, top string) dev {
	t.Helper()
	watch(t, top)
	storefront := filepath.Join(t.TempDir(), executable("storefront"))
	run(t, top, nil, "go", "build", "-o", storefront, "./cmd/storefront")
	command := exec.Command(storefront, "dev", "-o", "json", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--data", t.TempDir())
	var logs bytes.Buffer
	command.Stderr = &logs
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	timer := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
	stop := func() {
		timer.Stop()
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	t.Cleanup(stop)
	said := dev{storefront: storefront}
	if err := json.NewDecoder(output).Decode(&said); err != nil {
		stop()
		require.NoError(t, err, "%s", &logs)
	}
	timer.Stop()
	return said
}

// operate runs one of the operator's commands and decodes what it prints.
func (d dev) operate(t *testing.T, into any, args ...string) {
	t.Helper()
	out := run(t, "", []string{"STOREFRONT_ADMIN_TOKEN="}, d.storefront, append(args, "--admin-url", d.AdminURL, "-o", "json")...)
	require.NoError(t, json.Unmarshal(out, into))
}

// hook is a registered webhook.
type hook struct{ ID, Secret string }

// register makes a webhook of the demo store.
func (d dev) register(t *testing.T, url string, events ...string) hook {
	t.Helper()
	var made hook
	d.operate(t, &made, "webhook", "create", "--store", "demo", "--url", url, "--events", strings.Join(events, ","))
	return made
}

// run runs a command to its end and returns what it prints.
func run(t *testing.T, folder string, environment []string, name string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), &errs)
	return out
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// watch looks at every file that the run depends on. The go command repeats an old result until a
// file that the test itself has seen changes, and the builds see theirs behind its back.
func watch(t *testing.T, top string) {
	t.Helper()
	for _, room := range []string{"client", "cmd", "ent", "gen", "server", "worker"} {
		err := filepath.WalkDir(filepath.Join(top, room), func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == "typescript" {
				return fs.SkipDir // where other tests write
			}
			return err
		})
		require.NoError(t, err)
	}
	_, err := os.ReadFile(filepath.Join(top, "go.mod"))
	require.NoError(t, err)
}
