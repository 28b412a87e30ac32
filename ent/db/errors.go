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

// codeDuplicateStatement is the SQLSTATE for a prepared statement whose name is in use.
const codeDuplicateStatement = pqerror.Code("42P05")

// Routines in PostgreSQL's source. They distinguish errors with the same code, whose texts depend on lc_messages.
const (
	routineStalePlan     = "RevalidateCachedQuery"
	routineNotReplicated = "SyncRepWaitForLSN"
	// In Citus: a node did not confirm the commit.
	routineNodeFailed = "ErrorIfPostCommitFailedShardPlacements"
)

// routinesInRecovery are where a standby refuses, with 0A000, what only a primary supports: unlogged tables, and transactions
// that are serializable or that write.
var routinesInRecovery = []string{"get_relation_info", "call_bool_check_hook", "call_enum_check_hook"}

// IsUnique reports whether a unique index rejected a row.
func IsUnique(err error) bool {
	code := sqliteCode(err)
	return pq.As(err, pqerror.UniqueViolation) != nil ||
		code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// IsUnreachable reports whether the same work may succeed later: a connection failed, or a statement timed out; the server
// starts, stops, only reads, or has no connection, disk or memory left; or a SQLite file cannot be opened, read or written, or
// stays locked. A missing table counts, because the schema may be too old or the search_path wrong.
func IsUnreachable(err error) bool {
	// A connectError may wrap any error of the server.
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
			// The server's timeout counts as unreachable. The caller's context does not.
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
	return isDisconnected(err)
}

func isDisconnected(err error) bool {
	// Not net.Error, because an expired context is one too.
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

// errNotReplicated means that the synchronous standby did not confirm a commit, which a failover may still lose. The primary
// reports only a warning.
var errNotReplicated = errors.New("the commit was not confirmed by the synchronous standby")

// connectError is a failed connection attempt, for whatever reason: no server, no writable server, or a wrong password.
type connectError struct{ error }

// Error returns one line; the driver's text has one for each host.
func (e *connectError) Error() string {
	lines := strings.Split(e.error.Error(), "\n")
	return strings.Replace(strings.Join(lines, "; "), "hosts:; ", "hosts: ", 1)
}

func (e *connectError) Unwrap() error { return e.error }

// isReadOnly reports whether the server accepts no writes. The caller drops the connection, because after a failover another
// server is the primary.
func isReadOnly(err error) bool {
	e := pq.As(err)
	if e == nil {
		return sqliteCode(err)&0xff == sqlite3.SQLITE_READONLY
	}
	return e.Code == pqerror.ReadOnlySQLTransaction ||
		e.Code == pqerror.FeatureNotSupported && slices.Contains(routinesInRecovery, e.Routine)
}

// isLost reports whether the connection is unusable, because its server accepts no writes, is starting, or ends its sessions.
func isLost(err error) bool {
	return pq.As(err, pqerror.AdminShutdown, pqerror.CrashShutdown, pqerror.CannotConnectNow) != nil || isReadOnly(err)
}

// isRetryable reports whether a transaction conflicted with another one or with a changed schema.
func isRetryable(err error) bool {
	return pq.As(err, pqerror.TRSerializationFailure, pqerror.TRDeadlockDetected) != nil || isStale(err) || isBusy(err)
}

func isBusy(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_BUSY }

// isStale reports whether the server rejects a statement that it had prepared, after a migration, a deallocation, or because a
// pooler has begun to share sessions.
func isStale(err error) bool {
	if pq.As(err, pqerror.InvalidSQLStatementName, codeDuplicateStatement,
		pqerror.ProtocolViolation) != nil {
		return true
	}
	e := pq.As(err, pqerror.FeatureNotSupported)
	return e != nil && e.Routine == routineStalePlan
}

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

func sqliteCode(err error) int {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0
	}
	return e.Code()
}
