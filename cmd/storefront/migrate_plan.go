package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
)

type migratePlanCmd struct{ database }

type plannedMigration struct {
	Version      int64              `json:"version"`
	Name         string             `json:"name"`
	DurationMS   int64              `json:"durationMs"`
	WritesWaitMS int64              `json:"writesWaitMs"`
	Statements   []plannedStatement `json:"statements"`
}

type plannedStatement struct {
	Statement  string         `json:"statement"`
	DurationMS int64          `json:"durationMs"`
	Tables     []plannedTable `json:"tables"`
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
	var lasts, waits time.Duration
	for _, m := range plan {
		e := plannedMigration{m.Version, m.Name, m.Duration.Milliseconds(), m.WritesWait.Milliseconds(), []plannedStatement{}}
		lasts, waits = lasts+m.Duration, waits+m.WritesWait
		for _, p := range m.Statements {
			row := []string{strconv.FormatInt(m.Version, 10), shortSQL(p.SQL), "", "", "", "", formatEstimate(p.Duration)}
			statement := plannedStatement{p.SQL, p.Duration.Milliseconds(), []plannedTable{}}
			for _, t := range p.Tables {
				statement.Tables = append(statement.Tables, plannedTable{t.Name, t.Lock, t.Rows, t.Bytes})
				rows = append(rows, append(row[:2:2], t.Name, t.Lock, humanize.Comma(t.Rows), humanize.Bytes(uint64(max(0, t.Bytes))), row[6]))
				row = []string{"", "", "", "", "", "", ""} // the lines of further tables do not repeat the statement
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
		return s.printObjects([]byte(`{"version":0,"name":"","durationMs":0,"writesWaitMs":0,"statements":[]}`), objects)
	case len(plan) == 0:
		_, err = fmt.Fprintln(s.out, "the schema is up to date")
		return err
	}
	if err := s.printTable(strings.Fields("VERSION STATEMENT TABLE LOCK ROWS SIZE ABOUT"), rows); err != nil {
		return err
	}
	meanwhile := "servers of the release before go on reading and writing"
	if waits > time.Second {
		meanwhile = "servers of the release before go on reading, and writes wait for about " + formatEstimate(waits)
	}
	_, err = fmt.Fprintf(s.out, "\n%s, about %s; meanwhile %s\n", plural(len(plan), "migration"), formatEstimate(lasts), meanwhile)
	return err
}

func shortSQL(sql string) string { return cut(strings.Join(strings.Fields(sql), " "), 60) }

// cut shortens a text to a number of characters, the last of them "…". 0 means no limit.
func cut(text string, columns int) string {
	if runes := []rune(text); columns > 0 && len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return text
}

// formatEstimate returns seconds, minutes, or "a moment".
func formatEstimate(d time.Duration) string {
	switch {
	case d < 500*time.Millisecond:
		return "a moment"
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// progressLine returns version, name, the number of the current statement in plan, its tables with their rows, and how much is done. It leaves
// out what is unknown.
func progressLine(plan []db.PlannedMigration, p db.MigrationProgress) (line string) {
	line = shortSQL(p.SQL)
	for _, m := range plan {
		i := slices.IndexFunc(m.Statements, func(s db.PlannedStatement) bool { return strings.HasPrefix(s.SQL, p.SQL) })
		if i < 0 {
			continue
		}
		line = fmt.Sprintf("%d %s, statement %d of %d: %s", m.Version, m.Name, i+1, len(m.Statements), line)
		for _, t := range m.Statements[i].Tables {
			if t.Rows > 0 {
				line += fmt.Sprintf("; %s: about %s rows", t.Name, humanize.Comma(t.Rows))
			}
		}
		break
	}
	if p.Phase != "" {
		line += "; " + p.Phase
	}
	if p.Total > 0 {
		line += fmt.Sprintf(", %s of %s %s", humanize.Comma(p.Done), humanize.Comma(p.Total), p.Unit)
	}
	return line
}

// waitLine names the sessions for whose locks a migration waits.
func waitLine(waits []db.Blocker) string {
	names := make([]string, len(waits))
	for i, b := range waits {
		names[i] = b.String()
	}
	return "the migration waits for " + strings.Join(names, "; and for ")
}
