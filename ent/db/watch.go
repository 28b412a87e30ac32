package db

import (
	"bytes"
	"context"
	"database/sql"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// watchFirst is how long after a write to the log a listener first asks SQLite: a commit writes
	// several times, and counts from a moment after the last. Without a new version, each further wait is
	// twice as long.
	watchFirst = 2 * time.Millisecond
	// watchIdle is the longest wait where the system reports writes. It costs an idle worker 0.1 % of a
	// core, and covers reports that were lost.
	watchIdle = 256 * time.Millisecond
	// watchBlind is the longest wait where it does not. It costs 3 % of a core.
	watchBlind = 12 * time.Millisecond
	// watchPause is how long a listener waits after an error.
	watchPause = time.Second
)

// watcher notifies on SQLite: in this process at once, and of what another process commits within
// milliseconds. The system reports that the write-ahead log was written, and SQLite that something
// was committed (https://www.sqlite.org/pragma.html#pragma_data_version).
type watcher struct {
	listeners
	path string // of the database's file
	// open returns a pool that reads the file.
	open func() (*sql.DB, error)
}

func (w *watcher) listen(ctx context.Context) <-chan struct{} {
	signal := w.add(ctx)
	go func() {
		for ctx.Err() == nil {
			_ = w.watch(ctx, signal) // its listener polls meanwhile
			select {
			case <-ctx.Done():
			case <-time.After(watchPause):
			}
		}
	}()
	return signal
}

// watch raises the signal after commits that leave an entry in the outbox or a new delivery. Other
// commits, such as those that count requests, are passed over.
func (w *watcher) watch(ctx context.Context, signal chan struct{}) error {
	pool, err := w.open()
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(1) // the version is that of a connection
	var (
		version       int64
		newest, known []byte
	)
	// Reading opens the log, which then lasts as long as the connection.
	if err := pool.QueryRowContext(ctx, newestStatement).Scan(new(bool), &known); err != nil {
		return err
	}
	written, failed, longest, stop := w.writes()
	defer stop()
	wait := time.NewTimer(0)
	defer wait.Stop()
	for next := watchFirst; ; next = min(2*next, longest) {
		before := version
		if err := pool.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
			return err
		}
		if version != before {
			var queued bool
			if err := pool.QueryRowContext(ctx, newestStatement).Scan(&queued, &newest); err != nil {
				return err
			}
			if queued || bytes.Compare(newest, known) > 0 {
				raise(signal)
			}
			known = append(known[:0], newest...)
		}
		wait.Reset(next)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
			continue
		case <-written:
		case <-failed: //nolint:errcheck // After lost reports it looks as after any other.
		}
		// Until the next receive the system joins the writes of a busy server into one report.
		next = watchFirst / 2
		wait.Reset(watchFirst)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
		}
	}
}

// newestStatement reads whether the outbox has entries, and the newest delivery: identifiers of
// deliveries grow with the time.
const newestStatement = "SELECT EXISTS (SELECT 1 FROM outbox), (SELECT max(id) FROM deliveries)"

// writes returns the reports of writes to the log and of failures, such as lost reports, and the
// longest wait beside them. Where the system does not report writes, or late as Windows does, the
// channels never yield.
func (w *watcher) writes() (written <-chan fsnotify.Event, failed <-chan error, longest time.Duration, stop func()) {
	nothing := func() {}
	if runtime.GOOS == "windows" {
		return nil, nil, watchBlind, nothing
	}
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, nil, watchBlind, nothing
	}
	stop = func() { _ = files.Close() }
	// SQLite's log stands beside the file itself, not beside a link to it.
	if err := files.Add(withoutLinks(w.path) + "-wal"); err != nil {
		return nil, nil, watchBlind, stop
	}
	return files.Events, files.Errors, watchIdle, stop
}
