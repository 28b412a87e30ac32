package erase

import (
	"context"
	"fmt"
	"time"

	"go.storefront.example/ent/db"
)

const (
	// firstLogPause doubles up to lastLogPause. All pauses together take about a second: long enough for a request to end its
	// read, but not for an export.
	firstLogPause = time.Millisecond
	lastLogPause  = 512 * time.Millisecond
)

// emptyLog empties SQLite's write-ahead log, which keeps old pages, trying again after pauses without a lock. It returns "", or
// the kind of the reader that prevents it. In the database file SQLite overwrites deleted bytes (secure_delete).
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

// EmptyLog tries once to empty SQLite's log, if finished erasures wait for that, or stores the reader's kind in them. waiting
// is true if some still wait.
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
	// An erasure that finished after the log was emptied may have left pages in it.
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
