package hook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATimeLiesBehindWhatIsHeld(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		reason string
		seen   []time.Duration // of the held rows, from noon
		last   time.Duration   // what the process gave last
		alone  bool
		want   time.Duration
	}{
		{"the present, when nothing is newer", []time.Duration{-time.Hour, -time.Millisecond}, -time.Hour, false, 0},
		{"a row of the same millisecond: its ids may be another process's", []time.Duration{0}, -time.Hour, false, time.Millisecond},
		{"a server whose clock is ahead", []time.Duration{200 * time.Millisecond, 100 * time.Millisecond}, 0, false, 201 * time.Millisecond},
		{"a database keeps microseconds in some columns", []time.Duration{1500 * time.Microsecond}, 0, false, 2 * time.Millisecond},
		{"a date of another world does not spread", []time.Duration{24 * time.Hour, 500 * time.Millisecond}, 0, false, 501 * time.Millisecond},
		{"the process's own last time, which ids count on from", nil, 40 * time.Millisecond, false, 40 * time.Millisecond},
		{"a clock that was set back", nil, time.Minute, false, 0},
		{"a clock that stands still for a test", nil, 40 * time.Millisecond, true, 0},
	} {
		t.Run(row.reason, func(t *testing.T) {
			c := &Clock{Now: func() time.Time { return noon }, Alone: row.alone}
			c.last.Store(noon.Add(row.last).UnixMilli())
			var seen []time.Time
			for _, d := range row.seen {
				seen = append(seen, noon.Add(d))
			}
			require.Equal(t, noon.Add(row.want), c.after(seen))
			if !row.alone {
				require.Equal(t, noon.Add(row.want), c.after(nil), "never before: %s", row.reason)
			}
		})
	}
}
