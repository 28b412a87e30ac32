package dashboard

import (
	"strconv"
	"time"

	"go.storefront.example/ent/usage"
)

type chart struct {
	Title, Summary string
	// Top labels the vertical axis and Times the horizontal one, if there are data. Most says how high the highest bar is, for
	// readers who cannot see the chart.
	Top, Most string
	Times     []string
	Bars      []bar
	Width     int
	// Attempts is true if each bar has two parts: succeeded and failed.
	Attempts bool
}

type bar struct {
	Class        string
	X, Y, Height int
}

// Height is in the drawing's own units.
func (chart) Height() int { return chartHeight }

// span is a period shown in bars bars, of length bar each.
type span struct {
	name, unit string
	bar        time.Duration
	bars       int
	times      []string
}

var (
	lastDay  = span{"the last 24 hours", "an hour", usage.Hour, 24, []string{"24 h ago", "18 h", "12 h", "6 h", "now"}}
	lastWeek = span{"the last 7 days", "in 6 hours", 6 * usage.Hour, 28, []string{"7 d ago", "5 d", "3 d", "now"}}
)

func (s span) start(now time.Time) time.Time {
	return now.UTC().Truncate(s.bar).Add(-time.Duration(s.bars-1) * s.bar)
}

// barWidth and chartHeight are in the drawing's own units.
const barWidth, chartHeight = 6, 48

// counts sums tallies, of one hour each, for each bar and in all. It ignores those outside the span.
func (s span) counts(tallies []usage.Tally, now time.Time) (bars []usage.Tally, all usage.Tally) {
	bars, first := make([]usage.Tally, s.bars), s.start(now)
	for _, t := range tallies {
		i := int(t.BeganAt.Sub(first) / s.bar)
		if t.BeganAt.Before(first) || i >= s.bars {
			continue
		}
		for _, sum := range []*usage.Tally{&bars[i], &all} {
			sum.Succeeded, sum.Failed, sum.Duration = sum.Succeeded+t.Succeeded, sum.Failed+t.Failed, sum.Duration+t.Duration
		}
	}
	return bars, all
}

func (s span) attempts(tallies []usage.Tally, now time.Time) chart {
	bars, all := s.counts(tallies, now)
	c := chart{Title: "Attempts in " + s.name, Summary: "none", Attempts: true}
	total := all.Succeeded + all.Failed
	if total == 0 {
		return c
	}
	c.Summary = shareOf(all) + " of " + grouped(total) + " succeeded"
	most := int64(1)
	for _, b := range bars {
		most = max(most, b.Succeeded+b.Failed)
	}
	for i, b := range bars {
		n := b.Succeeded + b.Failed
		if n == 0 {
			continue
		}
		height := max(2, int(n*chartHeight/most))
		// Round up, so that even a single failure is visible.
		failed := min(height, int((b.Failed*int64(height)+n-1)/n))
		c.Bars = append(c.Bars, bar{"ok", i * barWidth, chartHeight - height, height - failed},
			bar{"ko", i * barWidth, chartHeight - failed, failed})
	}
	c.Top, c.Most, c.Times, c.Width = grouped(most)+" "+s.unit, grouped(most)+" at most "+s.unit, s.times, s.bars*barWidth
	return c
}

func (s span) durations(tallies []usage.Tally, now time.Time) chart {
	bars, all := s.counts(tallies, now)
	c := chart{Title: "Time of an attempt in " + s.name, Summary: "none"}
	if all.Succeeded+all.Failed == 0 {
		return c
	}
	c.Summary = formatMilliseconds(mean(all).Milliseconds()) + " on average"
	slowest := time.Duration(1)
	for _, b := range bars {
		slowest = max(slowest, mean(b))
	}
	for i, b := range bars {
		if b.Succeeded+b.Failed > 0 {
			height := max(2, int(mean(b)*chartHeight/slowest))
			c.Bars = append(c.Bars, bar{"took", i * barWidth, chartHeight - height, height})
		}
	}
	c.Top, c.Times, c.Width = formatMilliseconds(slowest.Milliseconds()), s.times, s.bars*barWidth
	c.Most = "at most " + c.Top
	return c
}

// shareOf returns a percentage that is 100 only if none failed, and otherwise at most 99.9.
func shareOf(t usage.Tally) string {
	all := t.Succeeded + t.Failed
	perMille := (t.Succeeded*1000 + all/2) / all
	if t.Failed > 0 {
		perMille = min(perMille, 999)
	}
	return strconv.FormatFloat(float64(perMille)/10, 'f', -1, 64) + " %"
}

func mean(t usage.Tally) time.Duration {
	if n := t.Succeeded + t.Failed; n > 0 {
		return t.Duration / time.Duration(n)
	}
	return 0
}
