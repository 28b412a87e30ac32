package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.storefront.example/server/importing"
	"go.storefront.example/server/operator"
)

type importCmd struct {
	database
	AdminURL string `name:"admin-url" hidden:""` // to be refused: the environment may have it for the others
	Store    string `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	Events   bool   `help:"Send the events that the same rows would send if they were new."`
	Kind     string `arg:"" enum:"products,customers,orders" help:"What the lines hold: products, customers or orders."`
	File     string `arg:"" help:"File with one object a line, as the API returns it; - reads standard input."`
}

// Help shows an example.
func (importCmd) Help() string {
	return `Loads whole objects of the API, one a line: ids, dates, statuses, references and counters are kept. What the store has already, by its id, is left as it is, so that running it again adds nothing twice.

500 lines are stored at a time. A bad line ends the load: it is reported with its number and nothing of its 500 is stored; those before it are.

It works on the database itself and not through a server.

An order's payment link must be in the store. Its customer is taken from the store by its id, or created from the order. The counters of the customers of loaded orders are computed again from all their orders.

Example:

    storefront import --store douala customers customers.ndjson
    gunzip -c orders.ndjson.gz | storefront import --store douala orders -`
}

// loaded is what a load did, as it is shown.
type loaded struct {
	Lines   int `json:"lines"`
	Stored  int `json:"stored"`
	Skipped int `json:"skipped"`
}

// Run loads the file.
func (c *importCmd) Run(s *session) error {
	if c.AdminURL != "" {
		return usage("import works on the database itself and not through a server; leave --admin-url out, or unset STOREFRONT_ADMIN_URL, and say --database-url")
	}
	lines, size := s.in, int64(-1)
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer func() { _ = f.Close() }()
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		lines = f
	}
	return s.onDatabase(c.database, func(ctx context.Context, o *operator.Operator) error {
		bar := newProgress(s.errs, c.Kind, size)
		done, err := o.Import(ctx, c.Store, lines, importing.Options{
			Kind: importing.Kind(c.Kind), Events: c.Events,
			Progress: bar.show,
		})
		bar.end()
		if err != nil {
			return stopped(err, done)
		}
		if s.json {
			return s.value(loaded{done.Lines, done.Stored, done.Skipped})
		}
		_, err = fmt.Fprintf(s.out, "%d lines: %d %s stored, %d there before\n", done.Lines, done.Stored, c.Kind, done.Skipped)
		return err
	})
}

// stopped adds to an error how much is stored in spite of it.
func stopped(err error, done importing.Progress) error {
	var bad *importing.LineError
	if errors.As(err, &bad) || done.Lines > 0 {
		return fmt.Errorf("%w; %d lines before it are done, nothing after", err, done.Lines)
	}
	return err
}
