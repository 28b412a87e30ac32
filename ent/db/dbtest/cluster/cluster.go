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

// Options vary a cluster.
type Options struct {
	// Disk is an existing folder that the data lies in, such as a small filesystem. The write-ahead
	// log and the server's own log stay elsewhere, so that a full disk fails statements and not the
	// server. Empty means a temporary folder for all of it.
	Disk string
}

// Cluster is a PostgreSQL server. It belongs to one goroutine.
type Cluster struct {
	programs string // their folder
	folder   string
	disk     string // Options.Disk
	port     int
	as       []string // what runs a program as the user of the server
	uid, gid int      // of that user, where as is set
}

// Find returns the folder of PostgreSQL's programs: of those on the path, else of the newest of
// Debian's.
func Find() (string, error) {
	if found, err := exec.LookPath("initdb"); err == nil {
		// A link to one of them is no folder with all of them.
		if found, err = filepath.EvalSymlinks(found); err == nil {
			return filepath.Dir(found), nil
		}
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
	return StartWith(ctx, programs, Options{})
}

// StartWith is Start with options.
func StartWith(ctx context.Context, programs string, o Options) (*Cluster, error) {
	c, err := prepare(programs, o)
	if err != nil {
		return nil, err
	}
	initdb := []string{"-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"}
	if o.Disk != "" {
		initdb = append(initdb, "-X", filepath.Join(c.aside(), "wal"))
	}
	if err := c.run(ctx, "initdb", initdb...); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c.begin(ctx)
}

// begin starts the server on a free port.
func (c *Cluster) begin(ctx context.Context) (*Cluster, error) {
	var err error
	for range portAttempts {
		if c.port, err = freePort(); err != nil {
			break
		}
		if err = c.Restart(ctx); err == nil {
			return c, nil
		}
	}
	return nil, errors.Join(err, c.remove())
}

// prepare makes the folders, which the user of the server owns.
func prepare(programs string, o Options) (*Cluster, error) {
	folder, err := os.MkdirTemp("", "storefront-cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{programs: programs, folder: folder, disk: o.Disk}
	folders := []string{c.data()}
	if o.Disk != "" {
		folders = append(folders, c.aside())
	}
	if runtime.GOOS != "windows" && os.Geteuid() == 0 {
		owner, err := unprivileged()
		if err != nil {
			return nil, errors.Join(err, c.remove())
		}
		var uidErr, gidErr error
		c.uid, uidErr = strconv.Atoi(owner.Uid)
		c.gid, gidErr = strconv.Atoi(owner.Gid)
		// The folder's own name is all that others may pass.
		err = errors.Join(uidErr, gidErr, os.Chmod(c.folder, 0o711)) //nolint:gosec // The log and data are the owner's.
		if err != nil {
			return nil, errors.Join(err, c.remove())
		}
		c.as = []string{"runuser", "-u", owner.Username, "--"}
	}
	for _, f := range folders {
		err := os.Mkdir(f, 0o700)
		if err == nil && c.as != nil {
			err = os.Chown(f, c.uid, c.gid)
		}
		if err != nil {
			return nil, errors.Join(err, c.remove())
		}
	}
	return c, nil
}

// unprivileged is the user that the server runs as for root.
func unprivileged() (*user.User, error) {
	if found, err := user.Lookup("postgres"); err == nil {
		return found, nil
	}
	return user.Lookup("nobody")
}

func (c *Cluster) data() string {
	if c.disk != "" {
		return filepath.Join(c.disk, "data")
	}
	return filepath.Join(c.folder, "data")
}

// aside is where lies what a full disk must not stop.
func (c *Cluster) aside() string { return filepath.Join(c.folder, "aside") }

func (c *Cluster) log() string {
	if c.disk != "" {
		return filepath.Join(c.aside(), "server.log")
	}
	return filepath.Join(c.data(), "server.log")
}

// Programs is the folder of the server's programs.
func (c *Cluster) Programs() string { return c.programs }

// Port is the server's, of 127.0.0.1.
func (c *Cluster) Port() int { return c.port }

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
	return c.remove()
}

// remove removes the data.
func (c *Cluster) remove() error {
	return errors.Join(os.RemoveAll(c.data()), os.RemoveAll(c.folder))
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
