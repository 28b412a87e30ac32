//go:build !windows

package main

import (
	"bufio"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
)

// It still ends in good order at SIGTERM.
func TestAServiceOutlivesItsTerminalAndItsLogsReader(t *testing.T) {
	t.Parallel()
	i := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": dbtest.URL(t, dbtest.SQLite), "STOREFRONT_SECRET_KEY": seal.NewKey(),
		"STOREFRONT_ADMIN_TOKEN": "a-token-of-the-operator-for-signals"}}
	i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
	server := i.start("storefront", "listening", "server", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")
	for _, row := range []struct {
		ready string
		args  []string
	}{
		{"delivering", []string{"worker", "--log-level", "debug"}},
		{"Ctrl-C", []string{"dev", "--data", t.TempDir(), "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--admin-token", ""}},
		{"Ready", []string{"listen", "--store", "s", "--admin-url", "http://" + server.AdminAddr, "--forward-to", "http://127.0.0.1:1"}},
		{"listening", []string{"server", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--database-url",
			dbtest.URL(t, dbtest.SQLite)}},
	} {
		t.Run(row.args[0], func(t *testing.T) {
			t.Parallel()
			read, write, err := os.Pipe()
			require.NoError(t, err)
			c := i.command("storefront", row.args...)
			c.Stdout, c.Stderr = write, write
			require.NoError(t, c.Start())
			t.Cleanup(func() { _ = c.Process.Kill() })
			require.NoError(t, write.Close())
			lines, said := bufio.NewScanner(read), ""
			for !strings.Contains(said, row.ready) {
				require.True(t, lines.Scan(), said)
				said += lines.Text() + "\n"
			}
			require.NoError(t, read.Close())
			require.NoError(t, c.Process.Signal(syscall.SIGHUP))
			require.NoError(t, c.Process.Signal(syscall.SIGTERM))
			require.NoError(t, c.Wait(), said)
		})
	}
}
