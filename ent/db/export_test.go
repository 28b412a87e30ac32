package db

import "database/sql"

func (d *DB) Migrator() (*sql.DB, error) { return d.migrator() }

// Locks are PostgreSQL's locks, from the weakest to the strongest.
var Locks = locks
