package db

import (
	"database/sql"
)

// Unkept returns the configuration with the keeping of prepared statements turned off.
func (c Config) Unkept() Config {
	c.unkept = true
	return c
}

// Migrator is the pool for changes of the schema.
func (s *DB) Migrator() (*sql.DB, error) { return s.migrator() }
