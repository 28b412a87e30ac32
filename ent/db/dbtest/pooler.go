package dbtest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/cluster"
	"go.storefront.example/ent/db/dbtest/need"
)

const (
	// poolerAttempts is for another program that takes a free port before PgBouncer does.
	poolerAttempts = 5
	poolerStart    = time.Minute
)

// Pooler runs PgBouncer until the test ends, and returns the database's URL through it. settings are lines of the section
// [pgbouncer], such as pool_mode = session. Without PgBouncer it calls need.Missing.
func Pooler(t testing.TB, database string, settings ...string) string {
	t.Helper()
	address, _ := ReloadablePooler(t, database, settings...)
	return address
}

// ReloadablePooler is Pooler with a function, reload, that replaces the settings while PgBouncer runs.
func ReloadablePooler(t testing.TB, database string, settings ...string) (address string, reload func(settings ...string)) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // Debian's folder, which is not on the path of ordinary users
		if _, err = os.Stat(program); err != nil {
			need.Missing(t, "PgBouncer is not installed")
		}
	}
	u, err := url.Parse(database)
	require.NoError(t, err)
	for range poolerAttempts {
		port, err := cluster.FreePort()
		require.NoError(t, err)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if reload = startPooler(t, program, u, address, settings); reload != nil {
			u.Host = address
			return u.String(), reload
		}
	}
	t.Fatal("PgBouncer does not start")
	return "", nil
}

func startPooler(t testing.TB, program string, database *url.URL, address string,
	settings []string) (reload func(settings ...string)) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	target := fmt.Sprintf("host=%s port=%s", database.Hostname(), database.Port())
	if password, ok := database.User.Password(); ok {
		target += " password=" + password
	}
	lines := []string{
		"[databases]", "* = " + target + " user=" + database.User.Username(),
		"[pgbouncer]", "listen_addr = " + host, "listen_port = " + port, "unix_socket_dir =", "auth_type = any",
	}
	folder, err := os.MkdirTemp("", "dbtest-pooler-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	config := filepath.Join(folder, "pgbouncer.ini")
	write := func(settings []string) {
		require.NoError(t, os.WriteFile(config, []byte(strings.Join(slices.Concat(lines, settings), "\n")+"\n"), 0o644))
	}
	require.NoError(t, os.Chmod(folder, 0o755)) //nolint:gosec // PgBouncer, as another user, reads the configuration in it.
	write(settings)
	args := []string{"-q", config}
	if os.Geteuid() == 0 {
		account := "postgres" // PgBouncer refuses to run as root
		if _, err := user.Lookup(account); err != nil {
			account = "nobody"
		}
		args = append([]string{"-u", account}, args...)
	}
	running := exec.Command(program, args...) //nolint:gosec // PgBouncer, found by its name.
	running.Dir = string(filepath.Separator)
	require.NoError(t, running.Start())
	ended := make(chan struct{})
	go func() {
		_ = running.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = running.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(poolerStart); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case <-ended:
			return nil
		default:
		}
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			_ = conn.Close()
			return func(settings ...string) {
				write(settings)
				require.NoError(t, running.Process.Signal(syscall.SIGHUP))
			}
		}
	}
	return nil
}
