package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
)

type migratePlanCmd struct{ database }

type plannedMigration struct {
	Version    int64              `json:"version"`
	Name       string             `json:"name"`
	Statements []plannedStatement `json:"statements"`
}

type plannedStatement struct {
	Statement string         `json:"statement"`
	Tables    []plannedTable `json:"tables"`
}

type plannedTable struct {
	Name  string `json:"name"`
	Lock  string `json:"lock"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

func (c *migratePlanCmd) Run(s *invocation) error {
	handle, err := hook.Open(s.ctx, c.config(db.Config{Existing: true}))
	if err != nil {
		return noFile(err)
	}
	plan, err := handle.Plan(s.ctx)
	if err = errors.Join(err, handle.Close()); err != nil {
		return err
	}
	var objects [][]byte
	var rows [][]string
	for _, m := range plan {
		e := plannedMigration{m.Version, m.Name, []plannedStatement{}}
		for _, p := range m.Statements {
			row := []string{strconv.FormatInt(m.Version, 10), shortSQL(p.SQL), "", "", "", ""}
			statement := plannedStatement{p.SQL, []plannedTable{}}
			for _, t := range p.Tables {
				statement.Tables = append(statement.Tables, plannedTable(t))
				rows = append(rows, append(row[:2:2], t.Name, t.Lock, humanize.Comma(t.Rows), humanize.Bytes(uint64(max(0, t.Bytes)))))
				row = []string{"", "", "", "", "", ""} // the lines of further tables do not repeat the statement
			}
			if len(p.Tables) == 0 {
				rows = append(rows, row)
			}
			e.Statements = append(e.Statements, statement)
		}
		text, err := plainJSON(e)
		if err != nil {
			return err
		}
		objects = append(objects, text)
	}
	switch {
	case s.json || s.csv:
		return s.printObjects([]byte(`{"version":0,"name":"","statements":[]}`), objects)
	case len(plan) == 0:
		_, err = fmt.Fprintln(s.out, "the schema is up to date")
		return err
	}
	return s.printTable(strings.Fields("VERSION STATEMENT TABLE LOCK ROWS SIZE"), rows)
}

func shortSQL(sql string) string { return cut(strings.Join(strings.Fields(sql), " "), 60) }

// cut shortens a text to a number of characters, the last "…". 0 means no limit.
func cut(text string, columns int) string {
	if runes := []rune(text); columns > 0 && len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return text
}

// progressLine returns a line such as "CREATE INDEX …, for 12s, waits for a lock".
func progressLine(p db.MigrationProgress) string {
	line := shortSQL(p.SQL)
	if p.Running >= time.Second {
		line += ", for " + p.Running.Truncate(time.Second).String()
	}
	if p.Waits {
		line += ", waits for a lock"
	}
	return line
}
