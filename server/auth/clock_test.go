package auth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClockLearns(t *testing.T) {
	t.Parallel()
	sent := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	answered := sent.Add(100 * time.Millisecond)
	for _, row := range []struct {
		reason string
		before time.Duration // from this process's clock to the database's, before the call
		told   time.Time
		want   time.Duration
	}{
		{"a time between question and answer is no reason to doubt", 0, sent.Add(30 * time.Millisecond), 0},
		{"nor is one that fits what is known", time.Hour, sent.Add(time.Hour + 30*time.Millisecond), time.Hour},
		{"a clock that is behind is moved as far as is certain", 0, answered.Add(time.Minute), time.Minute},
		{"a clock that is ahead too", 0, sent.Add(-time.Minute), -time.Minute},
		{"and back once the database's clock was set right", time.Hour, sent, 0},
	} {
		t.Run(row.reason, func(t *testing.T) {
			var c clock
			c.ahead.Store(int64(row.before))
			c.learn(row.told, sent, answered)
			require.Equal(t, row.want, time.Duration(c.ahead.Load()))
		})
	}

	var c clock
	c.ahead.Store(int64(time.Hour))
	require.WithinRange(t, c.now(), time.Now().Add(59*time.Minute), time.Now().Add(61*time.Minute))
	require.Nil(t, c.fixed(), "the database is asked for the time")

	given := clock{given: func() time.Time { return sent.In(time.FixedZone("", 3600)) }}
	given.learn(sent.Add(time.Hour), sent, answered)
	require.Equal(t, sent, given.now(), "a clock that was given is the clock, in UTC")
	require.Equal(t, sent, *given.fixed())
}
