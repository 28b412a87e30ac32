package db

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	entdialect "entgo.io/ent/dialect"

	"go.storefront.example/ent/migrations"
)

// PlannedMigration is a migration that Migrate would apply.
type PlannedMigration struct {
	Migration
	Statements []PlannedStatement
	// Duration is an estimate of how long the migration takes. WritesWait is an estimate of how long the writes of other sessions
	// to the same tables wait for the migration.
	Duration, WritesWait time.Duration
}

// PlannedStatement is a statement of a migration.
type PlannedStatement struct {
	SQL string
	// Tables are the tables that exist before the migration and that the statement locks, or reads from end to end.
	Tables []PlannedTable
	// Duration is an estimate of how long the statement takes; 0 means that it is short for any number of rows.
	Duration time.Duration
}

// PlannedTable is a table that a statement locks or reads, as it is before the migration.
type PlannedTable struct {
	Name string
	// Lock is PostgreSQL's name of the lock that a statement takes on the table. On SQLite it is always WRITE, the lock of the
	// file.
	Lock string
	// Rows is an estimate of the number of rows. Bytes is the size of the table with its indexes.
	Rows, Bytes int64
}

// locks are PostgreSQL's locks, from the weakest to the strongest.
var locks = []string{"ACCESS SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE", "SHARE ROW EXCLUSIVE", "ACCESS EXCLUSIVE"}

// BlocksWrites reports whether writes to the table wait while a statement holds its lock.
func (t PlannedTable) BlocksWrites() bool {
	return slices.Index(locks, t.Lock) >= slices.Index(locks, "SHARE") || t.Lock == sqliteLock
}

// sqliteLock is the only lock of a SQLite file. While a migration has it, other connections can only read.
const sqliteLock = "WRITE"

// command is a form of SQL command that migrations use, with its lock and its duration.
type command struct {
	// form matches a command of this form. The groups of the expression are the names of the tables, or of the index, that the
	// command locks.
	form *regexp.Regexp
	lock string
	// postgres and sqlite estimate how long the command takes for a million rows. They were measured on two busy cores: on
	// PostgreSQL 15 with ten million orders and 100 writes a second, and on SQLite with a million orders.
	postgres, sqlite time.Duration
}

// commands are the SQL commands that lock or read existing tables.
var commands = []command{
	{form(`CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS \W\w+\W ON \W(\w+)`), "SHARE UPDATE EXCLUSIVE", 2500 * time.Millisecond, 0},
	{form(`CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?\W\w+\W ON \W(\w+)`), "SHARE", 2 * time.Second, 2 * time.Second},
	{form(`ALTER TABLE \W(\w+)\W VALIDATE CONSTRAINT`), "SHARE UPDATE EXCLUSIVE", 4 * time.Second, 0},
	{form(`CREATE OR REPLACE TRIGGER \W\w+\W [^;]+? ON \W(\w+)`), "SHARE ROW EXCLUSIVE", 0, 0},
	{form(`LOCK TABLE \W(\w+)\W(?:, \W(\w+)\W)? IN ACCESS EXCLUSIVE MODE`), "ACCESS EXCLUSIVE", 0, 0},
	{form(`ALTER TABLE \W(\w+)\W (?:ADD|DROP)`), "ACCESS EXCLUSIVE", 0, 0},
	{form(`ALTER TABLE \W(\w+)\W SET`), "SHARE UPDATE EXCLUSIVE", 0, 0},
	{form(`(?:INSERT INTO|DELETE FROM) \W(\w+)`), "ROW EXCLUSIVE", 3 * time.Second, 3 * time.Second},
	{form(`DROP INDEX \W(\w+)`), "ACCESS EXCLUSIVE", 0, 0},
	{form(`UPDATE \W(\w+)`), "ROW EXCLUSIVE", 3 * time.Second, 3 * time.Second},
	{form(`FROM \W?(\w+)\W? GROUP BY`), "ACCESS SHARE", 2500 * time.Millisecond, 4 * time.Second},
	{form(`PRAGMA foreign_key_check -- (\w+)`), "", 0, 7 * time.Second},
}

// form compiles text, a regular expression for a form of command, so that it matches only at the beginning of a line.
func form(text string) *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*` + text) }

// index matches a command that creates an index. Its groups are the names of the index and of its table.
var index = regexp.MustCompile(`INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?\W(\w+)\W ON \W(\w+)`)

// Plan lists the migrations that Migrate would apply, which locks they take on tables that exist, and about how long they take. It
// changes nothing. On Citus it sees only the tables of the coordinator.
func (d *DB) Plan(ctx context.Context) ([]PlannedMigration, error) {
	files, err := migrations.List(d.dialect.name)
	if err != nil {
		return nil, err
	}
	steps, err := d.Migrations(ctx)
	if err != nil || pending(steps) == 0 {
		return nil, err
	}
	tables := map[string]PlannedTable{}
	var checked []string
	for row := range Rows(ctx, d.reader, d.dialect.tables) {
		var t PlannedTable
		var keys bool
		if err := row.Scan(&t.Name, &t.Rows, &t.Bytes, &keys); err != nil {
			return nil, fmt.Errorf("measure the tables: %w", err)
		}
		tables[t.Name] = t
		if keys {
			checked = append(checked, "PRAGMA foreign_key_check -- "+t.Name)
		}
	}
	var plan []PlannedMigration
	indexes := map[string]string{} // from the name of an index to the name of its table
	for i, f := range files {
		m := PlannedMigration{Migration: steps[i]}
		if len(checked) > 0 && rebuildsTable(f) {
			f.Statements = append(f.Statements, strings.Join(checked, "\n"))
		}
		locked := false
		for _, sql := range f.Statements {
			for _, found := range index.FindAllStringSubmatch(sql, -1) {
				indexes[found[1]] = found[2]
			}
			s := d.plan(sql, tables, indexes)
			m.Statements = append(m.Statements, s)
			m.Duration += s.Duration
			locked = locked && f.OneTransaction || slices.ContainsFunc(s.Tables, PlannedTable.BlocksWrites)
			if locked {
				m.WritesWait += s.Duration
			}
		}
		if m.AppliedAt == nil {
			plan = append(plan, m)
		}
	}
	return plan, nil
}

// plan returns the statement sql with the tables that it locks or reads, and its estimated duration. tables are the existing
// tables by name, and indexes has the table of each index.
func (d *DB) plan(sql string, tables map[string]PlannedTable, indexes map[string]string) PlannedStatement {
	s := PlannedStatement{SQL: sql}
	for _, c := range commands {
		for _, found := range c.form.FindAllStringSubmatch(sql, -1) {
			for _, name := range found[1:] {
				if table, isIndex := indexes[name]; isIndex {
					name = table
				}
				t, exists := tables[name]
				if !exists {
					continue
				}
				t.Lock = c.lock
				perMillion := c.postgres
				if d.dialect.name == entdialect.SQLite {
					t.Lock, perMillion = sqliteLock, c.sqlite
				}
				s.Duration += time.Duration(t.Rows) * perMillion / 1_000_000
				s.add(t)
			}
		}
	}
	return s
}

// add adds a table to the statement's tables. If the table is there already with a weaker lock, add replaces the lock.
func (s *PlannedStatement) add(t PlannedTable) {
	for i, known := range s.Tables {
		if known.Name == t.Name {
			if slices.Index(locks, t.Lock) > slices.Index(locks, known.Lock) {
				s.Tables[i] = t
			}
			return
		}
	}
	s.Tables = append(s.Tables, t)
}
