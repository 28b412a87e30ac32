package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// ClockTolerance is the reported difference between a process's clock and the database's: smaller
	// ones are ignored.
	ClockTolerance = time.Minute
	// ClockLimit is the difference from which the process deletes nothing: one of the two clocks is
	// wrong, and it cannot decide which.
	ClockLimit = time.Hour

	// clockInterval is how often WatchClock reads the database's clock.
	clockInterval = 10 * time.Second
	// clockTimeout bounds one such reading.
	clockTimeout = 5 * time.Second
	// clockReminder is how often a lasting difference is logged again.
	clockReminder = time.Hour
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

// String is a sentence for operators: "this process's clock is 3m0s ahead of the database's".
func (r ClockReading) String() string {
	way := "ahead of"
	if r.Offset < 0 {
		way = "behind"
	}
	return fmt.Sprintf("this process's clock is %v %s the database's", r.Offset.Abs().Round(time.Millisecond), way)
}

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

// WatchClock follows the database's clock until the context ends. While the clocks differ by more
// than ClockTolerance it logs that, once and then every hour, and once more when the difference
// ends.
func (s *DB) WatchClock(ctx context.Context, log *slog.Logger) {
	w := clockWatch{log: log}
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for {
		reading, cancel := context.WithTimeout(ctx, clockTimeout)
		// While the database is away nothing is stored, and other parts report it.
		if r, err := s.ReadClock(reading); err == nil {
			w.see(ctx, r, time.Now())
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// clockWatch decides when to log a difference.
type clockWatch struct {
	log    *slog.Logger
	grave  int       // what was last logged: 0 nothing, 1 beyond the tolerance, 2 beyond the limit
	logged time.Time // when
}

func (w *clockWatch) see(ctx context.Context, r ClockReading, now time.Time) {
	grave := 0
	switch {
	case r.Beyond(ClockLimit):
		grave = 2
	case r.Beyond(ClockTolerance):
		grave = 1
	}
	if grave == w.grave && (grave == 0 || now.Sub(w.logged) < clockReminder) {
		return
	}
	w.grave, w.logged = grave, now
	attrs := []any{"process_ahead_seconds", r.Offset.Seconds(), "remedy", "let NTP set the clocks of both machines"}
	switch grave {
	case 0:
		w.log.InfoContext(ctx, "this process's clock agrees with the database's again")
	case 1:
		w.log.WarnContext(ctx, r.String()+"; times are the database's", attrs...)
	case 2:
		w.log.ErrorContext(ctx, r.String()+"; times are the database's, and this process deletes nothing that is old", attrs...)
	}
}

// ErrClock means that nothing is deleted because this process's clock and the database's differ by
// more than ClockLimit.
var ErrClock = errors.New("the clocks differ too much to delete by age")
