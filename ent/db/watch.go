package db

import (
	"bytes"
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
)

// watchInterval is how often a listener asks SQLite whether another process has committed. It costs an idle worker one percent
// of a core.
const watchInterval = 30 * time.Millisecond

// watcher is the announcer on SQLite. Listeners in this process get a value at once, and listeners in another process within
// watchInterval after the commit (https://www.sqlite.org/pragma.html#pragma_data_version).
type watcher struct {
	signals
	// open returns a pool that reads the file.
	open func() (*sql.DB, error)
}

func (w *watcher) announce() { w.notify(uuid.Nil) }
func (w *watcher) close()    {}

func (w *watcher) listen(ctx context.Context) <-chan struct{} {
	signal := w.add(ctx, uuid.Nil)
	go func() {
		for ctx.Err() == nil {
			_ = w.watch(ctx, signal) // if watch fails, listeners find work by polling
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	return signal
}

// watch puts a value into signal after each commit that leaves an entry in the outbox or adds a delivery. It ignores other
// commits, such as counts of requests.
func (w *watcher) watch(ctx context.Context, signal chan struct{}) error {
	pool, err := w.open()
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(1) // one connection, because data_version is per connection
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	// query reads whether the outbox has entries, and the id of the newest delivery, which is the highest.
	const query = "SELECT EXISTS (SELECT 1 FROM outbox), (SELECT max(id) FROM deliveries)"
	var (
		seen, version    int64
		queued           bool
		previous, newest []byte
	)
	for first := true; ; first = false {
		if err := pool.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
			return err
		}
		if version != seen {
			if err := pool.QueryRowContext(ctx, query).Scan(&queued, &newest); err != nil {
				return err
			}
			if queued || !first && bytes.Compare(newest, previous) > 0 {
				notify(signal)
			}
			seen, previous = version, append(previous[:0], newest...)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
