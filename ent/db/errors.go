package db

import (
	"context"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// codeTakenStatement is PostgreSQL's SQLSTATE for a prepared statement whose name is taken.
const codeTakenStatement = pqerror.Code("42P05")

// Routines in PostgreSQL's source, which distinguish errors of one code: an error's text is in the
// language of lc_messages, its routine is not.
const (
	routineStalePlan     = "RevalidateCachedQuery"
	routineNotReplicated = "SyncRepWaitForLSN"
	// In Citus, for a commit that a node did not confirm.
	routineNodeFailed = "ErrorIfPostCommitFailedShardPlacements"
)

// routinesInRecovery are the routines in which a standby refuses, as 0A000, what only a primary
// supports: unlogged tables, and transactions that are serializable or write.
var routinesInRecovery = []string{"get_relation_info", "call_bool_check_hook", "call_enum_check_hook"}

// IsUnique reports whether a unique index refused a row.
func IsUnique(err error) bool {
	code := sqliteCode(err)
	return pq.As(err, pqerror.UniqueViolation) != nil ||
		code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// IsUnreachable reports whether the database is away, rather than that it refused something: no
// connection, or a broken one; a server that starts or stops, takes no more connections, has a full
// disk or memory, or only reads; a statement that timed out; on SQLite a file that cannot be
// opened, read or written, or that stays locked. A missing table counts too: the schema is behind, or the
// search_path leads elsewhere. The same work may succeed later.
func IsUnreachable(err error) bool {
	// First, because it may wrap any error of the server.
	if _, ok := errors.AsType[*connectError](err); ok || errors.Is(err, errNotReplicated) {
		return true
	}
	if e := pq.As(err); e != nil {
		switch e.Code {
		case pqerror.AdminShutdown, pqerror.CrashShutdown, pqerror.CannotConnectNow, pqerror.IOError,
			pqerror.LockNotAvailable, pqerror.IdleInTransactionSessionTimeout, pqerror.UndefinedTable:
			return true
		case pqerror.InternalError:
			return e.Routine == routineNodeFailed
		case pqerror.QueryCanceled:
			// The server's own timeout, unless the caller's context ended it.
			return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
		}
		class := e.Code.Class()
		return class == pqerror.ClassConnectionException || class == pqerror.ClassInsufficientResources ||
			isStale(err) || isReadOnly(err)
	}
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY:
		return true
	}
	// Not net.Error: an expired context is one, and is no sign of the database's state.
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

// errNotReplicated is the error of a commit that is in the primary's log but not confirmed by its
// synchronous standby. The primary reports success with a warning; a failover may still lose the
// commit, so it is reported as failed.
var errNotReplicated = errors.New("the commit was not confirmed by the synchronous standby")

// connectError is the error of a failed connection attempt, whatever the reason: no server, no
// writable one, or a wrong password.
type connectError struct{ error }

// Error is one line; the driver writes one for each host.
func (e *connectError) Error() string {
	lines := strings.Split(e.error.Error(), "\n")
	return strings.Replace(strings.Join(lines, "; "), "hosts:; ", "hosts: ", 1)
}

// Unwrap returns the driver's error.
func (e *connectError) Unwrap() error { return e.error }

// isReadOnly reports whether the server only reads: it is a standby, or its transactions are
// read-only by default. After a failover another server writes, so the connection is useless.
func isReadOnly(err error) bool {
	e := pq.As(err)
	if e == nil {
		return sqliteCode(err)&0xff == sqlite3.SQLITE_READONLY
	}
	return e.Code == pqerror.ReadOnlySQLTransaction ||
		e.Code == pqerror.FeatureNotSupported && slices.Contains(routinesInRecovery, e.Routine)
}

// isLost reports whether the connection is no longer usable: its server only reads or ends its
// sessions.
func isLost(err error) bool {
	return pq.As(err, pqerror.AdminShutdown, pqerror.CrashShutdown, pqerror.CannotConnectNow) != nil || isReadOnly(err)
}

// isRetryable reports whether the transaction lost to another one, or to a changed schema, and may
// be retried.
func isRetryable(err error) bool {
	return pq.As(err, pqerror.TRSerializationFailure, pqerror.TRDeadlockDetected) != nil || isStale(err) || isBusy(err)
}

// isBusy reports whether another connection has locked the SQLite file.
func isBusy(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_BUSY }

// isStale reports whether the server refuses a prepared statement that it accepted before: a
// migration changed its columns, it was deallocated, or a pooler has begun to share sessions, which the
// next connection shows.
func isStale(err error) bool {
	if pq.As(err, pqerror.InvalidSQLStatementName, codeTakenStatement,
		pqerror.ProtocolViolation) != nil { // such as another number of parameters than the statement has
		return true
	}
	e := pq.As(err, pqerror.FeatureNotSupported)
	return e != nil && e.Routine == routineStalePlan
}

// withHint adds to an error of PostgreSQL what the operator can do about it.
func withHint(err error) error {
	switch {
	case pq.As(err, pqerror.InsufficientPrivilege) != nil:
		return fmt.Errorf("%w; connect as the owner of the database and its tables", err)
	case pq.As(err, pqerror.LockNotAvailable) != nil:
		return fmt.Errorf("%w; run it again once long transactions, such as a backup, have ended", err)
	}
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return fmt.Errorf("%w; add sslrootcert=FILE to the URL, with the certificate of the authority that signed the server's", err)
	}
	return err
}

// sqliteCode returns SQLite's extended result code, 0 for other errors.
func sqliteCode(err error) int {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0
	}
	return e.Code()
}
