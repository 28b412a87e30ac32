package db

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// clockInterval is how often WatchClock reads the database's clock.
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
	process func() time.Time // Config.ProcessClock, or time.Now
	started time.Time        // with its monotonic reading
	ahead   atomic.Int64     // nanoseconds from the monotonic clock to the database's
	offset  atomic.Int64     // nanoseconds that this process's clock was ahead at the last reading
	asked   func(context.Context) (time.Time, error)
}

func newClock(c Config) *clock {
	k := &clock{given: c.Clock, process: c.ProcessClock, started: time.Now()}
	if k.process == nil {
		k.process = time.Now
		if k.given != nil {
			k.process = k.given
		}
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

// ClockReading is one comparison of this process's clock with the database's.
type ClockReading struct {
	// Now is the database's time: UTC, truncated to milliseconds.
	Now time.Time
	// Offset is how far this process's clock is ahead of the database's; negative when it is behind.
	Offset time.Duration
	// Doubt is the possible error of Offset, because the query took time.
	Doubt time.Duration
}

// Beyond reports whether the clocks certainly differ by more than limit.
func (r ClockReading) Beyond(limit time.Duration) bool { return r.Offset.Abs()-r.Doubt > limit }

// ReadClock queries the database's time, sets Now by it, and compares it with this process's clock.
// On SQLite the two are one clock. The error is the database's.
func (s *DB) ReadClock(ctx context.Context) (ClockReading, error) {
	k := s.clock
	if k.asked == nil || k.given != nil {
		r := ClockReading{Now: s.Now()}
		r.Offset = k.process().Sub(k.now())
		k.offset.Store(int64(r.Offset))
		return r, nil
	}
	sent, before := time.Now(), k.process()
	read, err := k.asked(ctx)
	if err != nil {
		return ClockReading{}, fmt.Errorf("read the database's clock: %w", err)
	}
	answered, after := time.Now(), k.process()
	k.learn(read, sent, answered)
	r := ClockReading{Now: read.UTC().Truncate(time.Millisecond), Doubt: answered.Sub(sent)/2 + time.Millisecond}
	r.Offset = before.Add(after.Sub(before) / 2).Round(0).Sub(read)
	k.offset.Store(int64(r.Offset))
	return r, nil
}

// learn corrects the clock by a time that the database returned for a query sent at sent and
// answered at answered. The database read its clock between the two, so the clock moves only if it
// lies outside that range, and only to its edge; one slow answer does not move it.
func (k *clock) learn(read, sent, answered time.Time) {
	least, most := int64(read.Sub(k.steady(answered))), int64(read.Sub(k.steady(sent)))
	k.ahead.Store(min(max(k.ahead.Load(), least), most))
}

// ClockOffset is how far this process's clock was ahead of the database's at the last reading,
// negative if behind. WatchClock reads every 10 seconds.
func (s *DB) ClockOffset() time.Duration { return time.Duration(s.clock.offset.Load()) }

// WatchClock follows the database's clock until the context ends.
func (s *DB) WatchClock(ctx context.Context) {
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for {
		reading, cancel := context.WithTimeout(ctx, clockTimeout)
		_, _ = s.ReadClock(reading) // while the database is away nothing is stored
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
