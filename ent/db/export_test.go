package db

import "database/sql"

// Migrator is the pool for changes of the schema.
func (s *DB) Migrator() (*sql.DB, error) { return s.migrator() }
