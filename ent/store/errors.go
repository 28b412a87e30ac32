package store

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/lib/pq"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLSTATE codes of PostgreSQL, its documentation's appendix A.
const (
	codeUniqueViolation      = "23505"
	codeCheckViolation       = "23514"
	codeSerializationFailure = "40001"
	codeDeadlockDetected     = "40P01"
	codeFeatureNotSupported  = "0A000" // what a changed result type of a cached plan comes as
	codeUnknownStatement     = "26000"
	codeLockNotAvailable     = "55P03"
	codeTooManyConnections   = "53300"
	codeQueryCanceled        = "57014"
	codeAdminShutdown        = "57P01"
	codeCrashShutdown        = "57P02"
	codeCannotConnectNow     = "57P03"
	classConnection          = "08"
)

// IsUnique reports whether the error is a unique index that refused a row.
func IsUnique(err error) bool {
	if code, ok := postgresCode(err); ok {
		return code == codeUniqueViolation
	}
	switch sqliteCode(err) {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return true
	}
	return false
}

// IsLocked reports whether the error says that somebody else held a table or a row for too long.
func IsLocked(err error) bool {
	code, _ := postgresCode(err)
	return code == codeLockNotAvailable || sqliteCode(err)&0xff == sqlite3.SQLITE_BUSY
}

// IsUnreachable reports whether the error says that the database is away rather than that it
// refused something: no connection, one that was cut, a server that starts, stops or takes no
// more connections; on SQLite a file that cannot be opened, read or written, or that stays
// locked. Work refused this way may succeed later, unchanged.
func IsUnreachable(err error) bool {
	if code, ok := postgresCode(err); ok {
		switch code {
		case codeTooManyConnections, codeAdminShutdown, codeCrashShutdown, codeCannotConnectNow:
			return true
		}
		return strings.HasPrefix(code, classConnection)
	}
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL:
		return true
	}
	// Not net.Error: an expired context is one, and says nothing of the database.
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	for _, gone := range []error{driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// isRetryable reports whether the transaction lost to another one, or to a changed schema, and
// may be run again.
func isRetryable(err error) bool {
	if code, ok := postgresCode(err); ok {
		return code == codeSerializationFailure || code == codeDeadlockDetected || isStale(err) || isRepartitioned(err)
	}
	return sqliteCode(err)&0xff == sqlite3.SQLITE_BUSY
}

// isStale reports whether the server refuses a prepared statement that it once took: a
// migration changed its columns, or a connection pooler gave the connection another server.
func isStale(err error) bool {
	code, _ := postgresCode(err)
	return code == codeUnknownStatement ||
		code == codeFeatureNotSupported && strings.Contains(err.Error(), "cached plan must not change result type")
}

// isRepartitioned reports whether a row was on its way to the default partition while its day was
// given a partition of its own.
func isRepartitioned(err error) bool {
	code, _ := postgresCode(err)
	return code == codeCheckViolation && strings.Contains(err.Error(), "violates partition constraint")
}

func postgresCode(err error) (string, bool) {
	e, ok := errors.AsType[*pq.Error](err)
	if !ok {
		return "", false
	}
	return string(e.Code), true
}

// sqliteCode returns SQLite's extended result code, 0 when the error is none of SQLite's.
func sqliteCode(err error) int {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0
	}
	return e.Code()
}
