package db

import "database/sql"

func (d *DB) Migrator() (*sql.DB, error) { return d.migrator() }

var Locks = locks
