package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"go.storefront.example/cmd/storefront/importfile"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/transfer"
	"go.storefront.example/server/validate"
)

type importCmd struct {
	target
	secretKey
	targets
	buckets
	Store      string   `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	From       string   `default:"storefront" enum:"shopify,woocommerce,gumroad,stripe,storefront" placeholder:"SHOP" help:"The shop whose export the file is: shopify, woocommerce, gumroad, stripe (customers) or storefront (default: storefront)."`
	Map        []string `placeholder:"COLUMN=FIELD" help:"Read a column as a field, such as Preis=price; COLUMN= leaves the column out. May be repeated."`
	Type       string   `default:"FILE" enum:"FILE,COURSE,LICENSE,MEETING,EVENT" placeholder:"TYPE" help:"The type of products whose row has none: FILE, COURSE, LICENSE, MEETING or EVENT (default: FILE)."`
	DateFormat string   `name:"date-format" placeholder:"FORMAT" help:"The order of dates, such as DD/MM/YYYY or MM/DD/YYYY: days and months have one digit or two, and a time may follow. Without this flag 21/11/2026, 21.11.2026 and 2026-11-21 are read, and 01/02/2026 is an error."`
	TimeZone   string   `name:"time-zone" placeholder:"ZONE" help:"The time zone of dates that name none, such as Europe/Paris (default: UTC)."`
	Encoding   string   `placeholder:"NAME" help:"The encoding of the file, such as windows-1250, windows-1251, gbk or shift_jis (default: UTF-8, or else windows-1252)."`
	Country    string   `placeholder:"CC" help:"The country of phone numbers without a country code, such as FR, for rows that name none (default: the store's)."`
	DryRun     bool     `name:"dry-run" help:"Check every line and store nothing."`
	SkipBad    bool     `name:"skip-bad" help:"Store the good lines of a file that has bad lines; without this flag nothing of such a file is stored."`
	Update     bool     `help:"Give products, customers and orders that the store has the file's values; without this flag they stay unchanged."`
	Errors     string   `placeholder:"FILE" help:"File for the rows that are bad or left out, each with its reason first. Correct the rows there and import the file."`
	Events     bool     `help:"Send the events that the rows would send if they were created now."`
	Create     bool     `help:"For an export: create the store with its old id if it is missing."`
	Kind       string   `arg:"" name:"kind|export" complete:"kinds" help:"The kind of rows: products, customers or orders. Or only the folder or .tar.zst file of an export."`
	File       string   `arg:"" optional:"" help:"A CSV file, or one with JSON objects; - reads standard input."`
}

type importResult struct {
	Lines   int `json:"lines"`
	Stored  int `json:"stored"`
	Skipped int `json:"skipped"`
	// The following members are left out if they are zero or empty.
	Changed         int      `json:"changed,omitempty"`
	Merged          int      `json:"merged,omitempty"`
	Repeated        int      `json:"repeated,omitempty"`
	LeftOut         int      `json:"leftOut,omitempty"`
	Bad             int      `json:"bad,omitempty"`
	Read            []string `json:"read,omitempty"`
	NotRead         []string `json:"notRead,omitempty"`
	Problems        []string `json:"problems,omitempty"`
	Notes           []string `json:"notes,omitempty"`
	UnknownItems    int      `json:"unknownItems,omitempty"`
	UnknownProducts []string `json:"unknownProducts,omitempty"`
}

const maxShown = 50

func (c *importCmd) Run(s *invocation) error {
	given := c.Kind
	c.Kind = strings.ToLower(given)
	switch isKind := slices.Contains(transfer.Kinds, transfer.Kind(c.Kind)); {
	case c.File == "" && isKind:
		return usage("name the file with the %s, or - for standard input", c.Kind)
	case c.File == "":
		return c.runExport(s, given)
	case !isKind:
		return usage("%s: must be products, customers or orders", c.Kind)
	case c.Create:
		return usage("--create: is for an export; make the store with `storefront store create`")
	}
	options := importfile.Options{
		Kind: transfer.Kind(c.Kind), From: c.From, Type: storefrontv1.Product_Type(storefrontv1.Product_Type_value[c.Type]),
		DateFormat: c.DateFormat, TimeZone: c.TimeZone, Encoding: c.Encoding,
		Events: c.Events, DryRun: c.DryRun, SkipBad: c.SkipBad, Update: c.Update,
	}
	var known bool
	if options.Country, known = validate.Country(c.Country); !known && c.Country != "" {
		return usage("--country %s: must be the two letters of a country, such as CM", c.Country)
	}
	for _, m := range c.Map {
		column, field, found := strings.Cut(m, "=")
		if !found || column == "" {
			return usage("--map %s: must be COLUMN=FIELD, or COLUMN= to leave the column out", m)
		}
		options.Columns = append(options.Columns, importfile.Column{Name: column, Field: field})
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
	// Standard input may be a file that the shell redirects. Then its size is known.
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
			if other, err := os.Stat(c.Errors); err == nil && os.SameFile(info, other) {
				return usage("--errors %s: is the file to import, which it would overwrite", c.Errors)
			}
		}
	}
	if c.Errors != "" {
		rejects, err := os.OpenFile(c.Errors, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("import: --errors: %w", err)
		}
		defer func() {
			info, err := rejects.Stat()
			_ = rejects.Close()
			if err == nil && info.Mode().IsRegular() && info.Size() == 0 {
				_ = os.Remove(c.Errors)
			}
		}()
		options.Rejects = rejects
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) (err error) {
		if ctx, options.Store, err = storeNamed(ctx, o, c.Store); err != nil {
			return err
		}
		bar := newProgress(s.errs, c.Kind, size)
		options.Progress = bar.show
		done, err := importfile.Load(ctx, o, in, options)
		bar.end()
		if errors.Is(err, importfile.ErrOptions) {
			return usage("%w", err)
		}
		return c.report(s, done, err)
	})
}

// report prints the result of an import that ended with err, and returns an error of one line.
func (c *importCmd) report(s *invocation, done *importfile.Report, err error) error {
	var fileErr *importfile.FileError
	refused, bad := errors.AsType[*importfile.BadLinesError](err)
	unfinished := err != nil && !bad
	if errors.As(err, &fileErr) {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	c.remarks(s.errs, done)
	if s.json && err == nil {
		return s.printValue(importResultOf(done))
	}
	written := ""
	if c.Errors != "" && done.Bad+done.Repeated+done.LeftOut > 0 {
		written = ", written to " + c.Errors
	}
	switch {
	case unfinished && (done.Stored > 0 || done.Changed > 0):
		return fmt.Errorf("%w; %s of the file's rows are stored: run it again", err, grouped(done.Stored+done.Changed))
	case unfinished:
		return err
	case refused != nil && c.SkipBad:
		return fmt.Errorf("all of the file (%s) is bad%s; nothing is stored", plural(done.Bad, done.Unit()), written)
	case refused != nil && c.DryRun:
		return fmt.Errorf("%s cannot be imported%s; nothing is stored", plural(done.Bad, done.Unit()), written)
	case refused != nil:
		return fmt.Errorf("%s cannot be imported%s, so nothing is stored; correct the file, or store the rest with --skip-bad",
			plural(done.Bad, done.Unit()), written)
	}
	return c.summary(s.out, done, written)
}

func (c *importCmd) summary(w io.Writer, done *importfile.Report, written string) error {
	verb, one := "stored", strings.TrimSuffix(c.Kind, "s")
	if c.DryRun {
		verb = "can be stored"
	}
	text := fmt.Sprintf("%s: %s %s", plural(done.Lines, done.Unit()), plural(done.Stored, one), verb)
	if c.Update {
		changed := "changed"
		if c.DryRun {
			changed = "would change"
		}
		text += fmt.Sprintf(", %s %s", grouped(done.Changed), changed)
	} else if done.Changed > 0 {
		text += fmt.Sprintf(", %s there before and completed", grouped(done.Changed))
	}
	switch {
	case c.Update:
		text += fmt.Sprintf(", %s unchanged", grouped(done.Skipped))
	case done.Skipped > 0:
		text += fmt.Sprintf(", %s there before and left as they are", grouped(done.Skipped))
	default:
		text += ", 0 there before"
	}
	for _, part := range []struct {
		count int
		label string
	}{
		{done.Merged, "of the same customer as another line"}, {done.Repeated, "further up in the file too"}, {done.LeftOut, "left out"},
		{done.Bad, "bad"},
	} {
		if part.count > 0 {
			text += fmt.Sprintf(", %s %s", grouped(part.count), part.label)
		}
	}
	_, err := fmt.Fprintln(w, text+written)
	return err
}

// remarks prints why lines are bad, which columns were read, what was left out, and which products are missing.
func (c *importCmd) remarks(w io.Writer, done *importfile.Report) {
	for i, p := range done.Problems {
		if i == maxShown {
			_, _ = fmt.Fprintf(w, "and %s other problems; --errors FILE writes every bad row with its reason\n", grouped(len(done.Problems)-i))
			break
		}
		_, _ = fmt.Fprintln(w, escaped(p.Text(done.Unit())))
	}
	if len(done.NotRead) > 0 {
		writeWrapped(w, "read: ", strings.Join(done.Read, ", "))
		writeWrapped(w, "not read: ", strings.Join(done.NotRead, ", "))
	}
	for _, note := range done.Notes {
		writeWrapped(w, "note: ", note.Text(done.Unit()))
	}
	if done.Items > 0 {
		verb := "are"
		if done.Items == 1 {
			verb = "is"
		}
		writeWrapped(w, "note: ", fmt.Sprintf("%s of orders %s of no product of the store, which has ids, slugs and titles to find them by "+
			"and no SKUs: %s", plural(done.Items, "item"), verb, strings.Join(done.Titles, ", ")))
	}
}

func importResultOf(done *importfile.Report) importResult {
	texts := func(remarks []*importfile.Remark) []string {
		var all []string
		for _, r := range remarks {
			all = append(all, r.Text(done.Unit()))
		}
		return all
	}
	l := importResult{
		Lines: done.Lines, Stored: done.Stored, Skipped: done.Skipped, Changed: done.Changed, Merged: done.Merged,
		Repeated: done.Repeated, LeftOut: done.LeftOut, Bad: done.Bad,
		NotRead: done.NotRead, Problems: texts(done.Problems), Notes: texts(done.Notes),
		UnknownItems: done.Items, UnknownProducts: done.Titles,
	}
	if len(l.NotRead) > 0 {
		l.Read = done.Read
	}
	return l
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return grouped(n) + " " + word
}

func grouped[N int | int32 | int64](n N) string { return humanize.Comma(int64(n)) }

// writeWrapped wraps at about 100 columns and indents all lines but the first.
func writeWrapped(w io.Writer, label, text string) {
	const columns, indent = 100, "  "
	line := label
	for word := range strings.SplitSeq(escaped(text), " ") {
		if len(line) > len(indent) && line != label && utf8.RuneCountInString(line)+utf8.RuneCountInString(word) > columns {
			_, _ = fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = indent
		}
		line += word + " "
	}
	_, _ = fmt.Fprintln(w, strings.TrimRight(line, " "))
}
