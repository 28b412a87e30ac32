package db

import (
	"bytes"
	"context"
	"database/sql"
	"time"
)

const (
	// watchInterval is how often a listener asks SQLite whether another process committed something. It
	// costs an idle worker one percent of a core.
	watchInterval = 30 * time.Millisecond
	// watchPause is how long a listener waits after an error.
	watchPause = time.Second
)

// watcher notifies on SQLite: in this process at once, and of what another process commits within
// watchInterval (https://www.sqlite.org/pragma.html#pragma_data_version).
type watcher struct {
	listeners
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
	if err := pool.QueryRowContext(ctx, newestStatement).Scan(new(bool), &known); err != nil {
		return err
	}
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
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
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// newestStatement reads whether the outbox has entries, and the newest delivery: identifiers of
// deliveries grow with the time.
const newestStatement = "SELECT EXISTS (SELECT 1 FROM outbox), (SELECT max(id) FROM deliveries)"
