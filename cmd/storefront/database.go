package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	counting "go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/server/shop"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" default:"withargs" help:"Bring the schema up to date (default)."`
	Plan   migratePlanCmd   `cmd:"" help:"Show what up would do: its statements, and the tables that they touch with rows, sizes and locks."`
	Status migrateStatusCmd `cmd:"" help:"Show which migrations are applied."`

	Recount migrateRecountCmd `cmd:"" help:"Count the rows of stores again, if totals of lists are wrong."`
}

type migration struct {
	Version   int64  `json:"version"`
	Name      string `json:"name"`
	AppliedAt *date  `json:"appliedAt"`
}

func (s *invocation) migrations(steps []db.Migration) error {
	objects := make([][]byte, len(steps))
	rows := make([][]string, len(steps))
	for i, m := range steps {
		e, at := migration{m.Version, m.Name, nil}, formatTime(apijson.OptionalTimestamp(m.AppliedAt))
		if m.AppliedAt != nil {
			e.AppliedAt = &date{*m.AppliedAt}
		}
		text, err := plainJSON(e)
		if err != nil {
			return err
		}
		objects[i] = text
		rows[i] = []string{strconv.FormatInt(e.Version, 10), e.Name, at}
	}
	if s.json || s.csv {
		return s.printObjects([]byte(`{"version":0,"name":"","appliedAt":null}`), objects)
	}
	return s.printTable(strings.Fields("VERSION NAME APPLIED"), rows)
}

type migrateUpCmd struct{ database }

func (c *migrateUpCmd) Run(s *invocation) error {
	var applied []db.Migration
	bar := newProgress(s.errs, "migrating", 0)
	err := migrate(s.ctx, c.database, watcher{
		begin:   func(m db.Migration) { bar.draw(fmt.Sprintf("%s %d %s…", bar.label, m.Version, m.Name)) },
		applied: func(m db.Migration) { applied = append(applied, m) },
		progress: func(line string, news bool) {
			if isTerminal(s.errs) {
				bar.draw(cut(bar.label+" "+line, terminalOf(s.errs, s.env).columns))
			} else if news {
				_, _ = fmt.Fprintln(s.errs, line)
			}
		},
	})
	bar.end()
	if err != nil {
		return err
	}
	if len(applied) == 0 && !s.json {
		_, err := fmt.Fprintln(s.out, "the schema is up to date")
		return err
	}
	return s.migrations(applied)
}

type migrateStatusCmd struct{ database }

func (c *migrateStatusCmd) Run(s *invocation) error {
	handle, err := hook.Open(s.ctx, c.config(db.Config{Existing: true}))
	if err != nil {
		return noFile(err)
	}
	steps, err := handle.Migrations(s.ctx)
	if err = errors.Join(err, handle.Close()); err != nil {
		return err
	}
	return s.migrations(steps)
}

type migrateRecountCmd struct {
	database
	Store string `placeholder:"SLUG" help:"The store, by slug or id; without this flag all stores."`
}

type recountResult struct {
	Stores int   `json:"stores"`
	Rows   int64 `json:"rows"`
}

const recountStores = 1000

func (c *migrateRecountCmd) Run(s *invocation) error {
	handle, err := c.open(s.ctx)
	if err != nil {
		return err
	}
	var done recountResult
	if err := errors.Join(done.count(s, handle, c.Store), handle.Close()); err != nil {
		return err
	}
	if s.json {
		return s.printValue(done)
	}
	_, err = fmt.Fprintf(s.out, "%s of %s counted\n", plural(int(done.Rows), "row"), plural(done.Stores, "store"))
	return err
}

// count counts the rows of a store, or of all stores if name is empty.
func (r *recountResult) count(s *invocation, handle *db.DB, name string) error {
	counts := counting.New(handle)
	if name != "" {
		store, err := shop.New(handle, s.options.Shop).FindStore(s.ctx, name)
		if err != nil {
			return err
		}
		return r.add(s, counts, store.ID)
	}
	bar := newProgress(s.errs, "counting", -1)
	defer bar.end()
	for last := uuid.Nil; ; {
		stores, err := counts.StoresAfter(s.ctx, last, recountStores)
		if err != nil || len(stores) == 0 {
			return err
		}
		for _, store := range stores {
			if err := r.add(s, counts, store.ID); err != nil {
				return fmt.Errorf("%w; %s before it are done, and it can be run again", err, plural(r.Stores, "store"))
			}
			last = store.ID
			bar.draw(grouped(r.Stores) + " stores, " + grouped(r.Rows) + " rows")
		}
	}
}

func (r *recountResult) add(s *invocation, counts *counting.Counts, store uuid.UUID) error {
	rows, err := counts.Recount(s.ctx, store)
	r.Rows += rows
	if err == nil {
		r.Stores++
	}
	return err
}
