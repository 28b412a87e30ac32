package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/importing/file"
	"go.storefront.example/server/operator"
)

type importCmd struct {
	place
	Store  string   `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	From   string   `default:"storefront" enum:"shopify,woocommerce,gumroad,storefront" placeholder:"SHOP" help:"The shop whose export the file is: shopify, woocommerce, gumroad or storefront (default: storefront)."`
	Map    []string `placeholder:"COLUMN=FIELD" help:"Read a column as a field, such as Preis=price; COLUMN= leaves the column out. May be repeated."`
	Type   string   `default:"FILE" enum:"FILE,COURSE,LICENSE,MEETING,EVENT" placeholder:"TYPE" help:"The type of products for which the file has none: FILE, COURSE, LICENSE, MEETING or EVENT (default: FILE)."`
	DryRun bool     `name:"dry-run" help:"Check every line and store nothing."`
	Errors string   `placeholder:"FILE" help:"Write every bad line to this file, as CSV with the line, the column and the problem."`
	Events bool     `help:"Send the events that the same rows would send if they were new."`
	Kind   string   `arg:"" enum:"products,customers,orders" help:"What the file holds: products, customers or orders."`
	File   string   `arg:"" help:"A CSV file, or one with a JSON object a line; - reads standard input."`
}

// loaded is what an import did, as it is shown.
type loaded struct {
	Lines   int `json:"lines"`
	Stored  int `json:"stored"`
	Skipped int `json:"skipped"`
}

// maxShown is how many bad lines are shown; --errors has them all.
const maxShown = 50

// Run imports the file.
func (c *importCmd) Run(s *session) error {
	options := file.Options{
		Kind: file.Kind(c.Kind), From: c.From, Type: storefrontv1.Product_Type(storefrontv1.Product_Type_value[c.Type]),
		Events: c.Events, DryRun: c.DryRun,
	}
	for _, m := range c.Map {
		column, field, found := strings.Cut(m, "=")
		if !found || column == "" {
			return usage("--map %s: must be COLUMN=FIELD, or COLUMN= to leave the column out", m)
		}
		options.Columns = append(options.Columns, file.Column{Name: column, Field: field})
	}
	in, size := s.in, int64(-1)
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	// Standard input may be a file too.
	if f, is := in.(*os.File); is {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
			if other, err := os.Stat(c.Errors); err == nil && os.SameFile(info, other) {
				return usage("--errors %s: is the file to import, which it would overwrite", c.Errors)
			}
		}
	}
	bad, err := newBadLines(c.Errors)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	options.Bad = bad.add
	err = s.operate(c.place, func(ctx context.Context, o operator.API) error {
		if options.Store, err = o.GetStore(ctx, &adminv1.GetStoreRequest{Store: c.Store}); err != nil {
			return err
		}
		bar := newProgress(s.errs, c.Kind, size)
		options.Progress = bar.show
		done, err := file.Load(ctx, o, in, options)
		bar.end()
		if err != nil {
			return c.stopped(s, err, done, bad)
		}
		if s.json {
			return s.value(loaded{done.Lines, done.Stored, done.Skipped})
		}
		verb := "stored"
		if c.DryRun {
			verb = "can be stored"
		}
		left := ""
		if done.Skipped > 0 {
			left = " and left as they are"
		}
		_, err = fmt.Fprintf(s.out, "%s: %s %s, %d there before%s\n", plural(done.Lines, "line"), plural(done.Stored, strings.TrimSuffix(c.Kind, "s")), verb, done.Skipped, left)
		return err
	})
	return errors.Join(err, bad.close())
}

// plural returns a count with its noun.
func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// stopped names the bad lines, and how much is stored in spite of them: on a terminal in a line each,
// elsewhere in the one line of the error.
func (c *importCmd) stopped(s *session, err error, done file.Progress, bad *badLines) error {
	var refused *file.BadLinesError
	switch {
	case errors.Is(err, file.ErrOptions):
		return usage("%w", err)
	case errors.As(err, &refused) && refused.Count > 1:
		shown := bad.first
		if more := refused.Count - maxShown; more > 0 {
			shown = append(shown, fmt.Sprintf("and %d more; --errors FILE writes them all", more))
		}
		if isTerminal(s.errs) {
			_, _ = fmt.Fprintln(s.errs, strings.Join(shown, "\n"))
			shown = nil
		}
		err = errors.New(strings.Join(append([]string{fmt.Sprintf("%d lines cannot be imported", refused.Count)}, shown...), "; "))
	}
	switch {
	case c.DryRun:
		return fmt.Errorf("%w; nothing is stored", err)
	case refused != nil || done.Lines > 0:
		return fmt.Errorf("%w; %d lines before it are done, nothing after", err, done.Lines)
	}
	return err
}

// badLines keeps the first bad lines, and writes all to a file.
type badLines struct {
	first []string
	lines int
	last  int
	file  *os.File
	csv   *csv.Writer
}

// newBadLines begins the file with that name, readable only by its owner; an empty name is none.
func newBadLines(name string) (*badLines, error) {
	b := &badLines{}
	if name == "" {
		return b, nil
	}
	var err error
	if b.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, fmt.Errorf("--errors: %w", err)
	}
	b.csv = csv.NewWriter(b.file)
	return b, b.csv.Write([]string{"line", "column", "problem"})
}

func (b *badLines) add(e file.LineError) {
	if e.Line != b.last {
		b.last = e.Line
		b.lines++
	}
	if b.lines <= maxShown {
		b.first = append(b.first, escaped(e.Error()))
	}
	if b.csv != nil {
		_ = b.csv.Write([]string{strconv.Itoa(e.Line), e.Column, e.Problem}) // close reports it
	}
}

// close completes the file.
func (b *badLines) close() error {
	if b.csv == nil {
		return nil
	}
	b.csv.Flush()
	if err := errors.Join(b.csv.Error(), b.file.Close()); err != nil {
		return fmt.Errorf("--errors: %w", err)
	}
	return nil
}
