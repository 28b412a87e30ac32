package db

import (
	"bytes"
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
)

// watchInterval is how often a listener asks SQLite whether another process committed something. It
// costs an idle worker one percent of a core.
const watchInterval = 30 * time.Millisecond

// watcher notifies on SQLite: in this process at once, and of what another process commits within
// watchInterval (https://www.sqlite.org/pragma.html#pragma_data_version).
type watcher struct {
	signals
	// open returns a pool that reads the file.
	open func() (*sql.DB, error)
}

func (w *watcher) announce() { w.raise(uuid.Nil) }
func (w *watcher) close()    {}

func (w *watcher) listen(ctx context.Context) <-chan struct{} {
	signal := w.add(ctx, uuid.Nil)
	go func() {
		for ctx.Err() == nil {
			_ = w.watch(ctx, signal) // its listener polls meanwhile
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
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
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	// The outbox's entries, and the newest delivery: identifiers of deliveries grow with the time.
	const look = "SELECT EXISTS (SELECT 1 FROM outbox), (SELECT max(id) FROM deliveries)"
	var (
		seen, version int64
		queued        bool
		known, newest []byte
	)
	for first := true; ; first = false {
		if err := pool.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
			return err
		}
		if version != seen {
			if err := pool.QueryRowContext(ctx, look).Scan(&queued, &newest); err != nil {
				return err
			}
			if queued || !first && bytes.Compare(newest, known) > 0 {
				raise(signal)
			}
			seen, known = version, append(known[:0], newest...)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
