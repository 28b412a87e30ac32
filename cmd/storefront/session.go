package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
)

type invocation struct {
	ctx       context.Context
	in        io.Reader
	out, errs io.Writer
	json, csv bool // set by -o json and -o csv
	// command is the command without its arguments, such as "order pay".
	command string
	env     func(string) (string, bool)
	// options are those of the admin services in this process. A server has options of its own.
	options admin.Options
	dev     *devFolder
	// flags are the command's. given names those that the command line, the environment or the settings file sets.
	flags    []*kong.Flag
	store    string // the store that the command line names, or ""
	given    map[string]bool
	terminal terminal
}

const defaultDatabase = "sqlite:storefront.db"

type database struct {
	DatabaseURL string `name:"database-url" secret:"" default:"sqlite:storefront.db" placeholder:"URL" help:"The database: sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME."`
	MaxConns    conns  `name:"database-max-conns" placeholder:"N" help:"Maximum connections of this process to PostgreSQL, 6 or more; to each node on Citus (default: what the process needs)."`
}

func (d database) config(c db.Config) db.Config {
	c.URL, c.TotalConns = d.DatabaseURL, int(d.MaxConns)
	return c
}

var errBehind = errors.New("the database's schema is not current; run `storefront migrate up`")

// noFile adds advice to the error that the SQLite file does not exist.
func noFile(err error) error {
	if errors.Is(err, db.ErrNoFile) {
		return fmt.Errorf("%w; run `storefront migrate up` to make it, start `storefront dev`, or name another with --database-url",
			err)
	}
	return err
}

// open fails if the schema is not current.
func (d database) open(ctx context.Context) (*db.DB, error) {
	return d.openWith(ctx, db.Config{})
}

// openWith opens d with the configuration c. It fails if the schema is not current.
func (d database) openWith(ctx context.Context, c db.Config) (*db.DB, error) {
	c.Existing = true
	opened, err := hook.Open(ctx, d.config(c))
	if err != nil {
		return nil, noFile(err)
	}
	current, err := opened.Current(ctx)
	if err == nil && !current {
		err = errBehind
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// target is for commands that call the admin services, in this process or on a server.
type target struct {
	database
	adminListener
}

// adminListener has the flags of commands that can call the admin services of a server.
type adminListener struct {
	AdminURL   string `name:"admin-url" placeholder:"URL" help:"URL of a server's admin listener, such as https://operator.example.com. The command then uses that server in place of the database."`
	AdminToken string `name:"admin-token" secret:"" placeholder:"TOKEN" help:"The --admin-token of that server."`
}

// operate calls do with the services of --admin-url, of this folder's running dev, or else of this process.
func (s *invocation) operate(t target, do func(ctx context.Context, o admin.API) error) error {
	if t.AdminURL == "" && s.dev.acceptsToken(t.AdminToken) {
		t.AdminURL = s.dev.AdminURL
	}
	if t.AdminURL == "" {
		return s.onDatabase(t.database, func(_ context.Context, o *admin.Operator) error {
			return s.trace(func(ctx context.Context) error { return s.withHint(ctx, o, do(ctx, o)) })
		})
	}
	client, err := t.client()
	if err != nil {
		return err
	}
	return s.trace(func(ctx context.Context) error {
		return s.withHint(ctx, client, do(ctx, client))
	})
}

func (p adminListener) client() (*rpc.Client, error) {
	if p.AdminToken != "" {
		if err := rpc.CheckToken(p.AdminToken); err != nil {
			return nil, usage("--admin-token: %w", err)
		}
	}
	client, err := rpc.NewClient(p.AdminURL, p.AdminToken)
	if err != nil {
		return nil, usage("--admin-url: %w", err)
	}
	return client, nil
}

func (s *invocation) onDatabase(d database, do func(ctx context.Context, o *admin.Operator) error) error {
	handle, err := d.open(s.ctx)
	if err != nil {
		return err
	}
	if d.isDevDatabase() {
		s.options.Webhooks.Targets = devTargets
	}
	return errors.Join(do(s.ctx, admin.New(handle, s.options)), handle.Close())
}
