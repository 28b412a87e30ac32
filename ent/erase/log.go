package erase

import (
	"context"
	"fmt"
	"time"

	"go.storefront.example/ent/db"
)

const (
	// firstLogPause is the pause after the first attempt to empty SQLite's log. Each further pause is twice as long, up to
	// lastLogPause. All pauses together take about a second: long enough for a request to end its read, but not for an
	// export.
	firstLogPause = time.Millisecond
	lastLogPause  = 512 * time.Millisecond
)

// emptyLog empties SQLite's write-ahead log, because the log keeps old pages with erased data. If a reader prevents that,
// emptyLog pauses, without a lock on the database, and tries again. It returns "" once the log is empty. If the last try
// fails as well, it returns the kind of the reader. In the database file itself SQLite overwrites deleted bytes
// (secure_delete).
func (e eraser) emptyLog(ctx context.Context) (reader string, err error) {
	for pause := firstLogPause; ; pause *= 2 {
		reader, err = e.EmptyLog(ctx)
		if err != nil || reader == "" || pause > lastLogPause {
			return reader, err
		}
		if err := wait(ctx, pause); err != nil {
			return reader, err
		}
	}
}

// EmptyLog tries once to empty SQLite's write-ahead log, if finished erasures wait for that. If a reader prevents it,
// EmptyLog stores the reader's kind in the waiting erasures. waiting is true if some erasures still wait.
func EmptyLog(ctx context.Context, d *db.DB) (waiting bool, err error) {
	if !db.ByDialect(d, false, true) {
		return false, nil // only SQLite has this log
	}
	const waits = "SELECT EXISTS (SELECT 1 FROM forgettings WHERE log_waits_for IS NOT NULL)"
	if err := d.Reader().QueryRowContext(ctx, waits).Scan(&waiting); err != nil || !waiting {
		return waiting, wrapLog(err)
	}
	before := d.Now()
	reader, err := d.EmptyLog(ctx)
	if err != nil {
		return true, err
	}
	// Update only erasures that were finished before the log was emptied, because an erasure that finished later may have left
	// pages in the log.
	_, err = d.Writer().ExecContext(ctx, `UPDATE forgettings SET log_waits_for = NULLIF($1, '')
 WHERE log_waits_for <> $1 AND finished_at <= $2`, reader, before)
	return reader != "", wrapLog(err)
}

func wrapLog(err error) error {
	if err != nil {
		return fmt.Errorf("note the write-ahead log's end: %w", err)
	}
	return nil
}
