package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.storefront.example/ent/db"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" default:"withargs" help:"Bring the schema up to date (default)."`
	Status migrateStatusCmd `cmd:"" help:"Show which migrations are applied."`

	Recount migrateRecountCmd `cmd:"" help:"Count the rows of stores anew, where totals of lists are wrong."`
}

// migration is a step of the schema as it is shown.
type migration struct {
	Version   int64  `json:"version"`
	Name      string `json:"name"`
	AppliedAt moment `json:"appliedAt"`
}

// migrations prints steps of the schema.
func (s *session) migrations(steps []db.Migration) error {
	objects := make([][]byte, len(steps))
	rows := make([][]string, len(steps))
	for i, m := range steps {
		e := migration{m.Version, m.Name, moment{m.AppliedAt}}
		text, err := plainJSON(e)
		if err != nil {
			return err
		}
		objects[i] = text
		rows[i] = []string{strconv.FormatInt(e.Version, 10), e.Name, e.AppliedAt.String()}
	}
	if s.csv {
		return writeCSV(s.out, nil, []byte(`{"version":0,"name":"","appliedAt":null}`), objects)
	}
	return s.list(objects, strings.Fields("VERSION NAME APPLIED"), rows)
}

type migrateUpCmd struct{ database }

// Run migrates.
func (c *migrateUpCmd) Run(s *session) error {
	var applied []db.Migration
	shown := newProgress(s.errs, "migrating", 0)
	err := migrate(s.ctx, c.database,
		func(m db.Migration) { shown.draw(fmt.Sprintf("%s %d %s…", shown.what, m.Version, m.Name)) },
		func(m db.Migration) { applied = append(applied, m) })
	shown.end()
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

// Run shows the migrations.
func (c *migrateStatusCmd) Run(s *session) error {
	handle, err := db.Open(s.ctx, db.Config{URL: c.DatabaseURL, Existing: true})
	if err != nil {
		return noFile(err)
	}
	steps, err := handle.Migrations(s.ctx)
	if err = errors.Join(err, handle.Close()); err != nil {
		return err
	}
	return s.migrations(steps)
}
