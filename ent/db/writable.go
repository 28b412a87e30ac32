package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"entgo.io/ent/dialect"
	"github.com/pressly/goose/v3"
)

const codeInsufficientPrivilege = "42501"

// CheckWritable runs these on PostgreSQL as one message and so as one transaction. Locking a row is
// a write: it goes to the log, to the disk and to a synchronous standby, and leaves no dead row.
// This lock waits for no other. The result that is larger than its memory goes into a file, which a
// full disk refuses; the file is where the tables are.
const (
	lockRow   = "SELECT 1 FROM " + goose.DefaultTablename + " LIMIT 1 FOR KEY SHARE"
	writeFile = "SELECT set_config('work_mem', '64kB', true), set_config('temp_tablespaces', '', true); " +
		"SELECT count(*) FROM generate_series(1, 5000)"
	// onlyReads fails on a standby and where transactions only read, for a user who may not lock the
	// row.
	onlyReads = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean"
)

// leastFree is how many free bytes the disk of a SQLite file must have.
const leastFree = 1 << 20

// errFull means that the disk is practically full.
var errFull = errors.New("the disk is full")

// errOnlyReads means that the server does not write.
var errOnlyReads = errors.New("the database is read-only")

// CheckWritable checks that the database can be written, by writing to it. A standby, a read-only
// file and a full disk fail, and so does a primary whose synchronous standby does not answer within
// the context's time. The schema must exist. On PostgreSQL it uses its own connection, so that it
// waits for no other statement.
func (s *DB) CheckWritable(ctx context.Context) error {
	if err := s.write(ctx); err != nil {
		return fmt.Errorf("write to the database: %w", err)
	}
	return nil
}

func (s *DB) write(ctx context.Context) error {
	if s.dialect == dialect.SQLite {
		// A row of a few bytes may fit into the log when nothing else does.
		if left, err := FreeBytes(filepath.Dir(s.path)); err == nil && left < leastFree {
			return fmt.Errorf("%s has %d bytes left: %w", filepath.Dir(s.path), left, errFull)
		}
		_, err := s.writer.ExecContext(ctx, "UPDATE "+goose.DefaultTablename+" SET is_applied = is_applied WHERE id = (SELECT min(id) FROM "+goose.DefaultTablename+")")
		return err
	}
	_, err := s.prober.ExecContext(ctx, lockRow+"; "+writeFile)
	switch code, _ := postgresCode(err); code {
	case codeTempFileLimit: // the operator's limit; the row was locked
		return nil
	case codeInsufficientPrivilege:
		return writeWithoutLock(ctx, s.prober)
	}
	return err
}

func writeWithoutLock(ctx context.Context, db *sql.DB) error {
	var reads bool
	if err := db.QueryRowContext(ctx, onlyReads).Scan(&reads); err != nil {
		return err
	}
	if reads {
		return errOnlyReads
	}
	_, err := db.ExecContext(ctx, writeFile)
	if code, _ := postgresCode(err); code == codeTempFileLimit {
		return nil
	}
	return err
}
