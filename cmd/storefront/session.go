package main

import (
	"context"
	"errors"
	"io"

	"go.storefront.example/ent/store"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/shop"
)

// session is what every command is carried out with.
type session struct {
	ctx       context.Context
	in        io.Reader
	out, errs io.Writer
	json      bool // -o json
}

// database is the setting of every command that works on the database.
type database struct {
	DatabaseURL string `name:"database-url" default:"sqlite:storefront.db" placeholder:"URL" help:"The database: sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME (default: sqlite:storefront.db)."`
}

// limit bounds a list.
type limit struct {
	Limit count `default:"50" placeholder:"N" help:"How many to show at most, newest first."`
}

var errBehind = errors.New("the database's schema is not current; run `storefront migrate up`")

// open opens the database for anything but migrating it: its schema must be current.
func (d database) open(ctx context.Context) (*store.Store, error) { return d.openWith(ctx, 0, nil) }

// openWith is open with a bound on the connections and with settings for them.
func (d database) openWith(ctx context.Context, conns int, settings map[string]string) (*store.Store, error) {
	s, err := store.Open(ctx, store.Config{URL: d.DatabaseURL, MaxConns: conns, Settings: settings})
	if err != nil {
		return nil, err
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

// operate carries out one of the operator's operations on the database.
func (s *session) operate(d database, o shop.Options, do func(ctx context.Context, operator *admin.Operator) error) error {
	db, err := d.open(s.ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(s.ctx, admin.New(db, shop.New(db, o))), db.Close())
}
