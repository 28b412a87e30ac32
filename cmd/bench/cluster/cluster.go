// Package cluster runs a PostgreSQL server of its own: fresh data in a folder of its own, a free
// port of the loopback address, and fsync on, because what it is made for is to crash and to lose
// nothing. PostgreSQL refuses to run as root; for root it runs as another user.
//
// The package speaks no SQL and keeps nothing: Close removes the data.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// commandTimeout bounds one call of PostgreSQL's programs.
	commandTimeout = time.Minute
	// portAttempts is how many ports are tried: one is free until somebody takes it.
	portAttempts = 5
	maxConns     = 100
)

// Cluster is a PostgreSQL server. It belongs to one goroutine.
type Cluster struct {
	programs string // their folder
	folder   string
	port     int
	as       []string // what runs a program as the user of the server
}

// Find returns the folder of PostgreSQL's programs: of those on the path, else of the newest of
// Debian's.
func Find() (string, error) {
	if found, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(found), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is well formed
	if len(found) == 0 {
		return "", errors.New("PostgreSQL is not installed here: there is no initdb")
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// version is the number in /usr/lib/postgresql/NUMBER/bin/initdb.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 for another name
	return n
}

// Start makes a cluster and starts it. Programs is the folder with initdb and pg_ctl.
func Start(ctx context.Context, programs string) (*Cluster, error) {
	folder, err := os.MkdirTemp("", "storefront-cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{programs: programs, folder: folder}
	if err := c.make(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	for range portAttempts {
		if c.port, err = freePort(); err != nil {
			break
		}
		if err = c.Restart(ctx); err == nil {
			return c, nil
		}
	}
	return nil, errors.Join(err, os.RemoveAll(folder))
}

// make makes the data.
func (c *Cluster) make(ctx context.Context) error {
	if err := os.Mkdir(c.data(), 0o700); err != nil {
		return err
	}
	if runtime.GOOS != "windows" && os.Geteuid() == 0 {
		owner, err := unprivileged()
		if err != nil {
			return err
		}
		uid, uidErr := strconv.Atoi(owner.Uid)
		gid, gidErr := strconv.Atoi(owner.Gid)
		// The folder's own name is all that others may pass.
		err = errors.Join(uidErr, gidErr, os.Chmod(c.folder, 0o711), os.Chown(c.data(), uid, gid)) //nolint:gosec // The log and data are the owner's.
		if err != nil {
			return err
		}
		c.as = []string{"runuser", "-u", owner.Username, "--"}
	}
	return c.run(ctx, "initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
}

// unprivileged is the user that the server runs as for root.
func unprivileged() (*user.User, error) {
	if found, err := user.Lookup("postgres"); err == nil {
		return found, nil
	}
	return user.Lookup("nobody")
}

func (c *Cluster) data() string { return filepath.Join(c.folder, "data") }

func (c *Cluster) log() string { return filepath.Join(c.data(), "server.log") }

// URL is that of the database postgres.
func (c *Cluster) URL() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", c.port)
}

// Restart starts the server, after a crash with all that was committed, and waits until it
// answers.
func (c *Cluster) Restart(ctx context.Context) error {
	options := fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=%d -c fsync=on", c.port, maxConns)
	err := c.run(ctx, "pg_ctl", "-D", c.data(), "-w", "-l", c.log(), "-o", options, "start")
	if err != nil {
		return fmt.Errorf("%w: %s", err, c.complaint())
	}
	return nil
}

// Crash ends the server as a crash does: it writes nothing more, and recovers when it starts again.
func (c *Cluster) Crash(ctx context.Context) error {
	return c.run(ctx, "pg_ctl", "-D", c.data(), "-w", "-m", "immediate", "stop")
}

// Close ends the server and removes its data.
func (c *Cluster) Close() error {
	// It may be down already, and then the error tells only that.
	_ = c.Crash(context.Background())
	return os.RemoveAll(c.folder)
}

// run runs one of PostgreSQL's programs as the user of the server.
func (c *Cluster) run(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	line := append(append(slices.Clone(c.as), filepath.Join(c.programs, name)), args...)
	command := exec.CommandContext(ctx, line[0], line[1:]...) //nolint:gosec // PostgreSQL's own programs.
	// The present folder may be closed to that user.
	command.Dir = string(filepath.Separator)
	// A file and no pipe: the server inherits it and would hold a pipe open.
	said, err := os.CreateTemp(c.folder, "said-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(said.Name()) }()
	defer func() { _ = said.Close() }()
	command.Stdout, command.Stderr = said, said
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, last(said.Name()))
	}
	return nil
}

// complaint is the last that the server wrote.
func (c *Cluster) complaint() string { return last(c.log()) }

// last is the last line of a file.
func last(path string) string {
	text, _ := os.ReadFile(path) // without it there is nothing to add to the error
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// freePort asks the system for a port that nobody uses.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.Join(errors.New("a TCP listener has no TCP address"), listener.Close())
	}
	return address.Port, listener.Close()
}
