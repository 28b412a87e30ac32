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

// invocation is what every command is carried out with.
type invocation struct {
	ctx       context.Context
	in        io.Reader
	out, errs io.Writer
	json, csv bool // of -o
	// command is the command's name, such as order pay.
	command string
	env     func(string) (string, bool)
	// options are the operator's rules where the command works on the database; a server has its own.
	options admin.Options
	// dev is the folder of dev that the command works in, nil if a database or a server is named.
	dev *devFolder
	// flags are those of the command, and given the names of those that have a value.
	flags    []*kong.Flag
	given    map[string]bool
	terminal terminal
}

// database is the setting of every command that works on the database.
type database struct {
	DatabaseURL string `name:"database-url" secret:"" default:"sqlite:storefront.db" placeholder:"URL" help:"The database: sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME."`
}

var errBehind = errors.New("the database's schema is not current; run `storefront migrate up`")

// noFile adds what to do to the error about a database that does not exist.
func noFile(err error) error {
	if errors.Is(err, db.ErrNoFile) {
		return fmt.Errorf("%w; run `storefront migrate up` to make it, start `storefront dev`, or name another with --database-url",
			err)
	}
	return err
}

// open opens the database for anything but migrating it: its schema must be current.
func (d database) open(ctx context.Context) (*db.DB, error) {
	return d.openWith(ctx, db.Config{})
}

// openWith is open with a configuration, to which it adds the database's URL.
func (d database) openWith(ctx context.Context, c db.Config) (*db.DB, error) {
	c.URL, c.Existing = d.DatabaseURL, true
	s, err := hook.Open(ctx, c)
	if err != nil {
		return nil, noFile(err)
	}
	current, err := s.Current(ctx)
	if err == nil && !current {
		err = errBehind
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// target is the setting of every command that operates stores: a database, or a server that has one.
type target struct {
	database
	adminListener
}

// adminListener is the setting of what calls a server's operator's listener.
type adminListener struct {
	AdminURL   string `name:"admin-url" placeholder:"URL" help:"A server's operator's listener, such as https://operator.example.com, to work through instead of the database; database settings are then ignored."`
	AdminToken string `name:"admin-token" secret:"" placeholder:"TOKEN" help:"The --admin-token of that server."`
}

// operate does something with the operator's API: on the database in this process, or on the server.
func (s *invocation) operate(at target, do func(ctx context.Context, o admin.API) error) error {
	if at.AdminURL == "" && s.dev.acceptsToken(at.AdminToken) {
		at.AdminURL = s.dev.AdminURL
	}
	if at.AdminURL == "" {
		return s.onDatabase(at.database, func(_ context.Context, o *admin.Operator) error {
			return s.trace(func(ctx context.Context) error { return s.hinted(ctx, o, do(ctx, o)) })
		})
	}
	client, err := at.client()
	if err != nil {
		return err
	}
	return s.trace(func(ctx context.Context) error {
		return s.hinted(ctx, client, do(ctx, client))
	})
}

// client is the client of the server at --admin-url.
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

// onDatabase does something with the operator of the database.
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
