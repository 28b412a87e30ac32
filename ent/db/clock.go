package db

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	entsql "entgo.io/ent/dialect/sql"
)

const (
	clockInterval = 10 * time.Second
	clockTimeout  = 5 * time.Second
)

// clock follows the database's clock on PostgreSQL, so that a process with a wrong clock stores right times; between readings
// it advances with this process's monotonic clock. On SQLite it is this machine's clock. override replaces the database's in
// tests.
type clock struct {
	override func() time.Time                         // Config.Clock, or nil
	process  func() time.Time                         // Config.ProcessClock, else override, else time.Now
	started  time.Time                                // when the clock was made, with a monotonic reading
	offset   atomic.Int64                             // the database's time minus the result of monotonic, in nanoseconds
	query    func(context.Context) (time.Time, error) // reads the database's clock; nil on SQLite
}

func newClock(c Config) *clock {
	k := &clock{override: c.Clock, process: c.ProcessClock, started: time.Now()}
	if k.process == nil {
		k.process = c.Clock
	}
	if k.process == nil {
		k.process = time.Now
	}
	return k
}

// monotonic returns what this process's clock would have shown at the time at if nobody had set it since k.started.
func (k *clock) monotonic(at time.Time) time.Time { return k.started.Round(0).Add(at.Sub(k.started)) }

func (k *clock) now() time.Time {
	switch {
	case k.override != nil:
		return k.override()
	case k.query == nil:
		return k.process()
	}
	return k.monotonic(time.Now()).Add(time.Duration(k.offset.Load()))
}

// ReadClock queries the database's time, in UTC and truncated to milliseconds. It corrects Now as little as the answer demands,
// which was read at some time between the query and its arrival, so that a slow one does no harm. On SQLite it returns this
// machine's time.
func (d *DB) ReadClock(ctx context.Context) (time.Time, error) {
	k := d.clock
	if k.query == nil || k.override != nil {
		return d.Now(), nil
	}
	sent := time.Now()
	read, err := k.query(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	low, high := int64(read.Sub(k.monotonic(time.Now()))), int64(read.Sub(k.monotonic(sent)))
	k.offset.Store(min(max(k.offset.Load(), low), high))
	return read.UTC().Truncate(time.Millisecond), nil
}

// ClockOffset is how far this process's clock is ahead of the database's, at least, as of the last ReadClock; negative if it is
// behind, and 0 on SQLite.
func (d *DB) ClockOffset() time.Duration {
	if d.clock.query == nil {
		return 0
	}
	return d.clock.process().Round(0).Sub(d.clock.now().Round(0))
}

// IsFuture selects the rows whose time in the column has not come yet. On PostgreSQL the statement compares with the database's
// clock and not with Now, which follows a leap of this clock late.
func (d *DB) IsFuture(column string) func(*entsql.Selector) { return d.compare(column, entsql.OpGT) }

// IsPast selects the rows whose time in the column has come, by the same clock as IsFuture.
func (d *DB) IsPast(column string) func(*entsql.Selector) { return d.compare(column, entsql.OpLTE) }

func (d *DB) compare(column string, op entsql.Op) func(*entsql.Selector) {
	at := d.TimeArg()
	if at == nil {
		at = entsql.Raw("now()")
	}
	return func(s *entsql.Selector) {
		s.Where(entsql.P(func(b *entsql.Builder) { b.Ident(s.C(column)).WriteOp(op).Arg(at) }))
	}
}

// KeepCurrent calls ReadClock regularly until the context ends. On a cluster it also reads on which node each store is.
func (d *DB) KeepCurrent(ctx context.Context) {
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for {
		reading, cancel := context.WithTimeout(ctx, clockTimeout)
		_, _ = d.ReadClock(reading) // while the database is unavailable nothing is stored
		_ = d.readNodes(reading)
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
