package db

import "database/sql"

// Migrator opens the pool on which migrations run.
func (d *DB) Migrator() (*sql.DB, error) { return d.migrator() }

// Locks are PostgreSQL's locks, from the weakest to the strongest.
var Locks = locks
