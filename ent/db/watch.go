package db

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
)

// watchInterval is how often a listener asks SQLite whether another process has committed.
const watchInterval = 30 * time.Millisecond

// watcher is the announcer on SQLite. Listeners get a value at once in this process, and within watchInterval in another
// (https://www.sqlite.org/pragma.html#pragma_data_version).
type watcher struct {
	signals
	open func() (*sql.DB, error)
	now  func() time.Time
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

// watch signals commits that leave a delivery due, and ignores others, such as counts of requests.
func (w *watcher) watch(ctx context.Context, signal chan struct{}) error {
	pool, err := w.open()
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(1) // data_version is per connection
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	var seen, version int64
	for {
		if err := pool.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
			return err
		}
		if version != seen {
			seen = version
			var due bool
			if err := pool.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM deliveries WHERE due_at <= $1 AND lease IS NULL)",
				w.now()).Scan(&due); err != nil {
				return err
			}
			if due {
				notify(signal)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
