// Package cluster runs a PostgreSQL server for tests, with fresh data in a new folder, on a free port of the loopback
// address. fsync is on, because tests crash the server and expect that nothing is lost. PostgreSQL refuses to run as root,
// so tests that run as root run the server as another user.
//
// The package runs no SQL. Close removes the data.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	commandTimeout = time.Minute
	// portAttempts is for another program that takes a free port before the server does.
	portAttempts = 5
	// Ports from firstPort to below endPort are not used for outgoing connections, on Linux or elsewhere.
	firstPort, endPort = 20_000, 32_768
	maxConns           = 100
)

// Options configure a cluster.
type Options struct {
	// Disk is an existing folder for the data, such as a small filesystem, or empty. Logs stay elsewhere, so that a full disk
	// fails statements but not the server.
	Disk string
	// Settings are NAME=VALUE without spaces, for the server and its standbys.
	Settings []string
}

// Cluster is a PostgreSQL server. Only one goroutine may use it.
type Cluster struct {
	programs string
	folder   string
	disk     string
	settings []string
	port     int
	runAs    []string // the command prefix that runs a program as the server's user
	uid, gid int      // zero if tests do not run as root
}

// Find returns the folder of the initdb on the path, or else the newest that Debian installed. As root it fails without
// runuser, because PostgreSQL refuses to run as root.
func Find() (string, error) {
	if os.Geteuid() == 0 {
		if _, err := exec.LookPath("runuser"); err != nil {
			return "", fmt.Errorf("PostgreSQL refuses to run as root: %w", err)
		}
	}
	if found, err := exec.LookPath("initdb"); err == nil {
		// A symbolic link's folder may lack pg_ctl.
		if found, err = filepath.EvalSymlinks(found); err == nil {
			return filepath.Dir(found), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errors.New("PostgreSQL is not installed here: there is no initdb")
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// version returns 15 for /usr/lib/postgresql/15/bin/initdb.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 if the folder's name is not a number
	return n
}

// Start makes and starts a new cluster. programs has initdb and pg_ctl.
func Start(ctx context.Context, programs string) (*Cluster, error) {
	return StartWith(ctx, programs, Options{})
}

// StartWith is Start with options.
func StartWith(ctx context.Context, programs string, o Options) (*Cluster, error) {
	c, err := prepare(programs, o)
	if err != nil {
		return nil, err
	}
	initdb := []string{"-D", c.dataFolder(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"}
	if o.Disk != "" {
		initdb = append(initdb, "-X", filepath.Join(c.logFolder(), "wal"))
	}
	if err := c.run(ctx, "initdb", initdb...); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c.start(ctx)
}

func (c *Cluster) start(ctx context.Context) (*Cluster, error) {
	var err error
	for range portAttempts {
		if c.port, err = FreePort(); err != nil {
			break
		}
		if err = c.Restart(ctx); err == nil {
			return c, nil
		}
	}
	return nil, errors.Join(err, c.remove())
}

// prepare creates the cluster's folder. As root it gives the data and logs to the unprivileged user of the server.
func prepare(programs string, o Options) (*Cluster, error) {
	folder, err := os.MkdirTemp("", "storefront-cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{programs: programs, folder: folder, disk: o.Disk, settings: o.Settings}
	folders := []string{c.dataFolder()}
	if o.Disk != "" {
		folders = append(folders, c.logFolder())
	}
	if runtime.GOOS != "windows" && os.Geteuid() == 0 {
		owner, err := unprivileged()
		if err != nil {
			return nil, errors.Join(err, c.remove())
		}
		var uidErr, gidErr error
		c.uid, uidErr = strconv.Atoi(owner.Uid)
		c.gid, gidErr = strconv.Atoi(owner.Gid)
		// Other users may enter the folder but not list it.
		err = errors.Join(uidErr, gidErr, os.Chmod(c.folder, 0o711)) //nolint:gosec // Only their owner can read the log and the data.
		if err != nil {
			return nil, errors.Join(err, c.remove())
		}
		c.runAs = []string{"runuser", "-u", owner.Username, "--"}
	}
	for _, f := range folders {
		err := os.Mkdir(f, 0o700)
		if err == nil && c.runAs != nil {
			err = os.Chown(f, c.uid, c.gid)
		}
		if err != nil {
			return nil, errors.Join(err, c.remove())
		}
	}
	return c, nil
}

func unprivileged() (*user.User, error) {
	if found, err := user.Lookup("postgres"); err == nil {
		return found, nil
	}
	return user.Lookup("nobody")
}

func (c *Cluster) dataFolder() string {
	if c.disk != "" {
		return filepath.Join(c.disk, "data")
	}
	return filepath.Join(c.folder, "data")
}

// logFolder is for the write-ahead log and the server's log, which a full disk must not affect.
func (c *Cluster) logFolder() string { return filepath.Join(c.folder, "aside") }

func (c *Cluster) serverLog() string {
	if c.disk != "" {
		return filepath.Join(c.logFolder(), "server.log")
	}
	return filepath.Join(c.dataFolder(), "server.log")
}

// Programs returns the folder of the server's programs.
func (c *Cluster) Programs() string { return c.programs }

// Port returns the server's port on 127.0.0.1.
func (c *Cluster) Port() int { return c.port }

// URL returns the URL of the database postgres.
func (c *Cluster) URL() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", c.port)
}

// Restart starts the server and waits until it answers, with everything that was committed.
func (c *Cluster) Restart(ctx context.Context) error {
	options := fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=%d -c fsync=on",
		c.port, maxConns)
	for _, setting := range c.settings {
		options += " -c " + setting
	}
	err := c.run(ctx, "pg_ctl", "-D", c.dataFolder(), "-w", "-l", c.serverLog(), "-o", options, "start")
	if err != nil {
		return fmt.Errorf("%w: %s", err, c.lastLogLine())
	}
	return nil
}

// Crash stops the server as a crash would: it writes nothing more, and recovers when it starts again.
func (c *Cluster) Crash(ctx context.Context) error {
	return c.run(ctx, "pg_ctl", "-D", c.dataFolder(), "-w", "-m", "immediate", "stop")
}

// Close stops the server and removes its data.
func (c *Cluster) Close() error {
	// The error only says that the server is already down.
	_ = c.Crash(context.Background())
	return c.remove()
}

func (c *Cluster) remove() error {
	return errors.Join(os.RemoveAll(c.dataFolder()), os.RemoveAll(c.folder))
}

func (c *Cluster) run(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	line := append(append(slices.Clone(c.runAs), filepath.Join(c.programs, name)), args...)
	command := exec.CommandContext(ctx, line[0], line[1:]...) //nolint:gosec // PostgreSQL's own programs.
	// The server's user may have no access to the current folder.
	command.Dir = string(filepath.Separator)
	// Citus looks for certificates in the home folder, and fails if it may not read there.
	command.Env = append(os.Environ(), "HOME="+c.folder)
	// The server would inherit a pipe and hold it open.
	output, err := os.CreateTemp(c.folder, "output-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(output.Name()) }()
	defer func() { _ = output.Close() }()
	command.Stdout, command.Stderr = output, output
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, lastLine(output.Name()))
	}
	return nil
}

func (c *Cluster) lastLogLine() string { return lastLine(c.serverLog()) }

func lastLine(path string) string {
	text, _ := os.ReadFile(path) // if the file cannot be read, the error gets no detail
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// FreePort returns an unused port outside the range that systems hand out, so that no other test gets it meanwhile.
func FreePort() (port int, err error) {
	for range portAttempts {
		port = firstPort + rand.IntN(endPort-firstPort) //nolint:gosec // Nothing secret is made of it.
		var listener net.Listener
		if listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, listener.Close()
		}
	}
	return 0, err
}
