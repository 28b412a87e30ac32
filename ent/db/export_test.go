package db

import "database/sql"

// Migrator is the pool for changes of the schema.
func (d *DB) Migrator() (*sql.DB, error) { return d.migrator() }

// Locks are PostgreSQL's locks, from the weakest to the strongest.
var Locks = locks
