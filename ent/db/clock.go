package db

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// clockInterval is how often Watch reads the database's clock.
	clockInterval = 10 * time.Second
	// clockTimeout bounds one such reading.
	clockTimeout = 5 * time.Second
)

// clock is the time for everything in the database. On PostgreSQL it is the database's, so that a
// process with a wrong clock stores right times; between two readings it follows this process's
// monotonic clock. On SQLite it is this machine's.
//
// Three clocks may differ: the database's, this process's, and in tests a given one that replaces
// the database's.
type clock struct {
	given   func() time.Time // Config.Clock, or nil
	process func() time.Time // Config.ProcessClock, or else given, or time.Now
	started time.Time        // with its monotonic reading
	ahead   atomic.Int64     // nanoseconds from the monotonic clock to the database's
	asked   func(context.Context) (time.Time, error)
}

func newClock(c Config) *clock {
	k := &clock{given: c.Clock, process: c.ProcessClock, started: time.Now()}
	if k.process == nil {
		k.process = c.Clock
	}
	if k.process == nil {
		k.process = time.Now
	}
	return k
}

// steady is the process's start time plus the monotonic time since.
func (k *clock) steady(at time.Time) time.Time { return k.started.Round(0).Add(at.Sub(k.started)) }

// now is the best estimate of the database's time without a query.
func (k *clock) now() time.Time {
	switch {
	case k.given != nil:
		return k.given()
	case k.asked == nil:
		return k.process()
	}
	return k.steady(time.Now()).Add(time.Duration(k.ahead.Load()))
}

// ReadClock queries the database's time, UTC and truncated to milliseconds, and sets Now by it. On SQLite that is this
// machine's. The error is the database's.
//
// The database read its clock between the query and its answer, so Now moves only if it lies outside that range, and only
// to its edge: one slow answer does not move it.
func (d *DB) ReadClock(ctx context.Context) (time.Time, error) {
	k := d.clock
	if k.asked == nil || k.given != nil {
		return d.Now(), nil
	}
	sent := time.Now()
	read, err := k.asked(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	least, most := int64(read.Sub(k.steady(time.Now()))), int64(read.Sub(k.steady(sent)))
	k.ahead.Store(min(max(k.ahead.Load(), least), most))
	return read.UTC().Truncate(time.Millisecond), nil
}

// ClockOffset is how far this process's clock is certainly ahead of the database's, negative if behind, as of the last
// ReadClock. On SQLite it is 0.
func (d *DB) ClockOffset() time.Duration {
	if d.clock.asked == nil {
		return 0 // one machine has one clock
	}
	return d.clock.process().Round(0).Sub(d.clock.now().Round(0))
}

// Watch follows the database's clock, and where a cluster has the stores, until the context ends.
func (d *DB) Watch(ctx context.Context) {
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for {
		reading, cancel := context.WithTimeout(ctx, clockTimeout)
		_, _ = d.ReadClock(reading) // while the database is away nothing is stored
		_ = d.readNodes(reading)
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
