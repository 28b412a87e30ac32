package db

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"

	entdialect "entgo.io/ent/dialect"

	"go.storefront.example/ent/migrations"
)

// PlannedMigration is a migration that Migrate would apply.
type PlannedMigration struct {
	Migration
	Statements []PlannedStatement
}

// PlannedStatement is a statement of a migration.
type PlannedStatement struct {
	SQL string
	// Tables are existing tables that the statement locks, or reads from end to end.
	Tables []PlannedTable
}

// PlannedTable is a table as it is before the migration.
type PlannedTable struct {
	Name string
	// Lock is PostgreSQL's name of the strongest lock that the statement takes on the table; WRITE, the lock of the file, on
	// SQLite.
	Lock string
	// Rows is an estimate. Bytes includes the indexes.
	Rows, Bytes int64
}

// locks are PostgreSQL's, from the weakest to the strongest.
var locks = []string{"ACCESS SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE", "SHARE ROW EXCLUSIVE", "ACCESS EXCLUSIVE"}

// commands are the forms of SQL commands that lock or read existing tables, with PostgreSQL's lock. The groups of a form are the
// names of the tables, or of the index, that the command locks.
var commands = []struct {
	form *regexp.Regexp
	lock string
}{
	{form(`CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS \W\w+\W ON \W(\w+)`), "SHARE UPDATE EXCLUSIVE"},
	{form(`CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?\W\w+\W ON \W(\w+)`), "SHARE"},
	{form(`ALTER TABLE \W(\w+)\W VALIDATE CONSTRAINT`), "SHARE UPDATE EXCLUSIVE"},
	{form(`CREATE OR REPLACE TRIGGER \W\w+\W [^;]+? ON \W(\w+)`), "SHARE ROW EXCLUSIVE"},
	{form(`LOCK TABLE \W(\w+)\W(?:, \W(\w+)\W)? IN ACCESS EXCLUSIVE MODE`), "ACCESS EXCLUSIVE"},
	{form(`ALTER TABLE \W(\w+)\W (?:ADD|DROP)`), "ACCESS EXCLUSIVE"},
	{form(`ALTER TABLE \W(\w+)\W SET`), "SHARE UPDATE EXCLUSIVE"},
	{form(`(?:INSERT INTO|DELETE FROM|UPDATE) \W(\w+)`), "ROW EXCLUSIVE"},
	{form(`DROP INDEX \W(\w+)`), "ACCESS EXCLUSIVE"},
	{form(`FROM \W?(\w+)\W? GROUP BY`), "ACCESS SHARE"},
}

// form matches only at the beginning of a line.
func form(text string) *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*` + text) }

// index matches a command that creates an index. Its groups are the names of the index and of its table.
var index = regexp.MustCompile(`INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?\W(\w+)\W ON \W(\w+)`)

// Plan lists the migrations that Migrate would apply, and which locks they take on tables that exist. It changes nothing. On
// Citus it sees only the tables of the coordinator.
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
	for row := range Rows(ctx, d.reader, d.dialect.tables) {
		var t PlannedTable
		if err := row.Scan(&t.Name, &t.Rows, &t.Bytes); err != nil {
			return nil, fmt.Errorf("measure the tables: %w", err)
		}
		tables[t.Name] = t
	}
	var plan []PlannedMigration
	indexes := map[string]string{} // from the name of an index to the name of its table
	for i, f := range files {
		m := PlannedMigration{Migration: steps[i]}
		for _, sql := range f.Statements {
			for _, found := range index.FindAllStringSubmatch(sql, -1) {
				indexes[found[1]] = found[2]
			}
			m.Statements = append(m.Statements, PlannedStatement{sql, d.locked(sql, tables, indexes)})
		}
		if m.AppliedAt == nil {
			plan = append(plan, m)
		}
	}
	return plan, nil
}

// locked returns which of the existing tables a statement locks or reads. indexes has the table of each index.
func (d *DB) locked(sql string, tables map[string]PlannedTable, indexes map[string]string) (all []PlannedTable) {
	for _, c := range commands {
		for _, found := range c.form.FindAllStringSubmatch(sql, -1) {
			for _, name := range found[1:] {
				t, exists := tables[cmp.Or(indexes[name], name)]
				if !exists {
					continue
				}
				if t.Lock = c.lock; d.dialect.name == entdialect.SQLite {
					t.Lock = "WRITE"
				}
				i := slices.IndexFunc(all, func(known PlannedTable) bool { return known.Name == t.Name })
				if i < 0 {
					all = append(all, t)
				} else if slices.Index(locks, t.Lock) > slices.Index(locks, all[i].Lock) {
					all[i] = t
				}
			}
		}
	}
	return all
}
