package limit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/limit"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestReset(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		now    time.Time
		want   time.Duration
	}{
		{"the first instant of a minute has all of it ahead", at("2026-09-01T10:00:00Z"), 60 * time.Second},
		{"a fraction is rounded up, or the wait would end too early", at("2026-09-01T10:00:00.001Z"), 60 * time.Second},
		{"a whole second is exact", at("2026-09-01T10:00:01Z"), 59 * time.Second},
		{"in the middle", at("2026-09-01T10:00:29.5Z"), 31 * time.Second},
		{"never 0: the last instant still waits", at("2026-09-01T10:00:59.999999999Z"), time.Second},
		{"the window is UTC's whatever the zone, here with seconds in its offset",
			at("2026-09-01T10:00:10Z").In(time.FixedZone("odd", 3600+17)), 50 * time.Second},
	} {
		t.Run(row.reason, func(t *testing.T) {
			require.Equal(t, row.want, limit.Reset(row.now))
		})
	}
}

func TestMinute(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		now    time.Time
		want   int64
	}{
		{"the epoch is minute 0", at("1970-01-01T00:00:00Z"), 0},
		{"the last instant belongs to its minute", at("1970-01-01T00:00:59.999999999Z"), 0},
		{"the turn belongs to the next", at("1970-01-01T00:01:00Z"), 1},
	} {
		t.Run(row.reason, func(t *testing.T) {
			require.Equal(t, row.want, limit.Minute(row.now))
		})
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	now := at("2026-09-01T10:00:15Z")
	for _, row := range []struct {
		reason string
		got    limit.Rate
		want   limit.Rate
	}{
		{"the first request takes one", limit.Counted(120, 1, now), limit.Rate{Limit: 120, Remaining: 119, Reset: 45 * time.Second}},
		{"the 120th is the last that is allowed", limit.Counted(120, 120, now), limit.Rate{Limit: 120, Remaining: 0,
			Reset: 45 * time.Second}},
		{"the 121st is not", limit.Counted(120, 121, now), limit.Rate{Limit: 120, Remaining: 0, Reset: 45 * time.Second, Limited: true}},
		{"without a key nothing is used up", limit.Uncounted(now), limit.Rate{Limit: 120, Remaining: 120, Reset: 45 * time.Second}},
		{"a blocked address has nothing left", limit.Blocked(now), limit.Rate{Limit: 120, Remaining: 0, Reset: 45 * time.Second,
			Limited: true}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			require.Equal(t, row.want, row.got)
		})
	}
	require.False(t, limit.TooManyUnknown(20), "20 unknown keys a minute are allowed")
	require.True(t, limit.TooManyUnknown(21), "more than 20 are not")
}
