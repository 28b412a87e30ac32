package guide_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds each wait for a process: the server's start, demo data included, and a delivery.
const patience = time.Minute

// dev is the development server, and what it says of itself.
type dev struct {
	URL, AdminURL, Key string
	binary             string
}

// startDev builds the command and starts the development server on free ports and an empty folder.
func startDev(t *testing.T) dev {
	t.Helper()
	d := dev{binary: filepath.Join(t.TempDir(), executable("storefront"))}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", d.binary, "./cmd/storefront")
	build.Dir = top
	output(t, build)

	command := exec.Command(d.binary, "dev", "-o", "json", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--data", t.TempDir())
	var logs bytes.Buffer
	command.Stderr = &logs
	said, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	timer := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
	stop := func() {
		timer.Stop()
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	t.Cleanup(stop)
	if err := json.NewDecoder(said).Decode(&d); err != nil {
		stop()
		require.NoError(t, err, "%s", &logs)
	}
	timer.Stop()
	return d
}

// run runs a command of the operator on the running server.
func (d dev) run(t *testing.T, args ...string) []byte {
	t.Helper()
	return []byte(output(t, exec.CommandContext(t.Context(), d.binary, append(args, "-o", "json", "--admin-url", d.AdminURL)...)))
}

// reader is the environment of the guide's reader.
func (d dev) reader() []string {
	return []string{"STOREFRONT_URL=" + d.URL, "STOREFRONT_KEY=" + d.Key}
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// watch looks at every file that the run depends on. The go command repeats an old result until a
// file that the test itself has seen changes, and the builds see theirs behind its back.
func watch(t *testing.T) {
	t.Helper()
	for _, room := range []string{"client", "cmd", "ent", "gen", "server", "worker"} {
		err := filepath.WalkDir(filepath.Join(top, room), func(_ string, _ fs.DirEntry, err error) error { return err })
		require.NoError(t, err)
	}
	for _, file := range []string{"go.mod", "package-lock.json"} {
		_, err := os.ReadFile(filepath.Join(top, file))
		require.NoError(t, err)
	}
}
