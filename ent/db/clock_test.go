package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

const years = 3 * 365 * 24 * time.Hour

func skewed(off time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(off) }
}

// Whatever this process's clock shows.
func TestTimesAreTheDatabases(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"ahead": years, "behind": -years, "right": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t, dbtest.Postgres, db.Config{ProcessClock: skewed(off)})
			near := func(at time.Time) {
				t.Helper()
				var apart float64
				require.NoError(t, d.Reader().QueryRow("SELECT extract(epoch FROM clock_timestamp() - $1::timestamptz)::float8",
					at).Scan(&apart))
				require.Less(t, max(apart, -apart), time.Minute.Seconds())
			}
			near(d.Now())
			require.NoError(t, hook.Run(context.Background(), d, func(c *hook.Change) error {
				near(c.Time())
				return nil
			}))
			now, err := d.ReadClock(context.Background())
			require.NoError(t, err)
			near(now)
			require.InDelta(t, off.Seconds(), d.ClockOffset().Seconds(), time.Minute.Seconds())
		})
	}
}

func TestOneMachineHasOneClock(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{ProcessClock: skewed(years)})
	require.InDelta(t, years.Seconds(), time.Until(d.Now()).Seconds(), time.Minute.Seconds())
	require.Zero(t, d.ClockOffset())
}
