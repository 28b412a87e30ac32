package db

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// The kinds of readers that EmptyLog reports. An export or a backup holds a lock on a file beside the database, because every
// process sees it, and the system releases it when its process dies.
const (
	ReaderExport = "export"
	ReaderBackup = "backup"
	// ReaderOther is any other reading transaction: a long request, or another program.
	ReaderOther = "reader"
)

// EmptyLog empties SQLite's write-ahead log, which keeps old pages; on PostgreSQL it does nothing. If a transaction still reads
// old pages, the log stays and EmptyLog returns the reader's kind, otherwise "".
//
// It never waits for readers: a checkpoint that empties the log holds SQLite's write lock meanwhile, and all writers would
// wait. So its connection has no busy timeout, and a passive checkpoint first copies most of the log without the lock
// (https://www.sqlite.org/c3ref/wal_checkpoint_v2.html).
func (d *DB) EmptyLog(ctx context.Context) (reader string, err error) {
	if d.path == "" {
		return "", nil
	}
	pool, err := d.checkpointer()
	if err != nil {
		return "", err
	}
	defer func() { _ = pool.Close() }() // The pool has changed no row.
	for _, mode := range []string{"PASSIVE", "TRUNCATE"} {
		var busy, frames, copied int
		err := pool.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &frames, &copied)
		switch {
		case err == nil && busy == 0 && frames == copied:
		case err == nil || isBusy(err):
			return d.markedReader(), nil
		default:
			return "", fmt.Errorf("empty the write-ahead log: %w", err)
		}
	}
	return "", nil
}

// markPause is the wait between two tries of markReader, which fail while markedReader tests the lock.
const markPause = time.Millisecond

// readerLock is the lock of readers of this kind. flag opens the lock's file, which is never removed and means nothing while
// nobody has locked it.
func (d *DB) readerLock(kind string, flag int) *flock.Flock {
	return flock.New(withoutLinks(d.path)+"."+kind+".lock", flock.SetFlag(flag), flock.SetPermissions(0o600))
}

// markReader shows every process a reader of this kind until unmark. If the lock's file cannot be made, EmptyLog reports
// ReaderOther.
func (d *DB) markReader(ctx context.Context, kind string) (unmark func()) {
	if d.path == "" {
		return func() {}
	}
	lock := d.readerLock(kind, os.O_CREATE|os.O_RDONLY)
	_, _ = lock.TryRLockContext(ctx, markPause) // a shared lock, because there may be several readers of one kind
	return func() { _ = lock.Close() }
}

// markedReader returns the kind of a reader that holds its lock, or ReaderOther.
func (d *DB) markedReader() string {
	for _, kind := range []string{ReaderExport, ReaderBackup} {
		lock := d.readerLock(kind, os.O_RDONLY)
		free, err := lock.TryLock()
		if _ = lock.Close(); err == nil && !free {
			return kind
		}
	}
	return ReaderOther
}
