package db_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
)

const years = 3 * 365 * 24 * time.Hour

// skewed is a clock that is wrong.
func skewed(off time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(off) }
}

// Whatever this process's clock shows, times are the database's.
func TestTimesAreTheDatabases(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"ahead": years, "behind": -years, "right": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.New(t, dbtest.Postgres, db.Config{ProcessClock: skewed(off)})
			near := func(at time.Time) {
				t.Helper()
				var apart float64
				require.NoError(t, s.Reader().QueryRow("SELECT extract(epoch FROM clock_timestamp() - $1::timestamptz)::float8", at).Scan(&apart))
				require.Less(t, max(apart, -apart), time.Minute.Seconds())
			}
			near(s.Now())
			require.NoError(t, s.WithTx(context.Background(), func(ctx context.Context, _ *ent.Tx) error {
				near(hook.Time(ctx))
				return nil
			}))
			r, err := s.ReadClock(context.Background())
			require.NoError(t, err)
			near(r.Now)
			require.InDelta(t, off.Seconds(), r.Offset.Seconds(), time.Minute.Seconds())
			require.Equal(t, r.Offset, s.ClockOffset())
			require.Equal(t, off != 0, r.Beyond(db.ClockLimit))
		})
	}
}

// On SQLite there is no other clock to compare with.
func TestOneMachineHasOneClock(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.SQLite, db.Config{ProcessClock: skewed(years)})
	require.InDelta(t, years.Seconds(), time.Until(s.Now()).Seconds(), time.Minute.Seconds())
	r, err := s.ReadClock(context.Background())
	require.NoError(t, err)
	require.False(t, r.Beyond(db.ClockTolerance))
}

func TestAWrongClockIsLoggedOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		reason string
		// offsets are what the looks find, each ten minutes after the one before.
		offsets []time.Duration
		lines   []string
	}{
		{"seconds are NTP's business", []time.Duration{0, 59 * time.Second, -59 * time.Second}, nil},
		{"a difference that stays is one line", []time.Duration{2 * time.Minute, 2 * time.Minute, 3 * time.Minute}, []string{"level=WARN"}},
		{"and one more after an hour", []time.Duration{-years, -years, -years, -years, -years, -years, -years, -years}, []string{"behind", "behind"}},
		{"one that grows is another", []time.Duration{2 * time.Minute, 2 * time.Hour}, []string{"level=WARN", "deletes nothing that is old"}},
		{"its end is logged", []time.Duration{2 * time.Hour, 0, 0}, []string{"level=ERROR", "agrees"}},
		{"what the question took is no difference", []time.Duration{61 * time.Second}, nil},
	} {
		t.Run(row.reason, func(t *testing.T) {
			var log bytes.Buffer
			see := db.WatchForTest(slog.New(slog.NewTextHandler(&log, nil)))
			for i, offset := range row.offsets {
				see(ctx, db.ClockReading{Offset: offset, Doubt: 2 * time.Second}, now.Add(time.Duration(i)*10*time.Minute))
			}
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			if row.lines == nil {
				lines = lines[:len(lines)-1]
			}
			require.Len(t, lines, len(row.lines), "%s: %s", row.reason, log.String())
			for i, want := range row.lines {
				require.Contains(t, lines[i], want)
			}
		})
	}
}
