package dashboard

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"go.storefront.example/ent/usage"
)

// picture is how a webhook's attempts of a span of time ended and how long they took, as two small drawings
// and a sentence.
type picture struct {
	Span string // such as 24 h
	// Total counts the attempts; Share and Mean describe them, empty without any.
	Total, Share, Mean string
	// Bars draws successes and failures, Line how long an attempt took on average.
	Bars, Line template.HTML
}

// pictured is a span of time that pictures show, divided into bars.
type pictured struct {
	name string
	bar  time.Duration
	bars int
}

var lastDay, lastWeek = pictured{"24 h", usage.Hour, 24}, pictured{"7 d", 6 * usage.Hour, 28}

// since is when the first bar begins.
func (p pictured) since(now time.Time) time.Time {
	return now.UTC().Truncate(p.bar).Add(-time.Duration(p.bars-1) * p.bar)
}

// The size of a drawing, in its own units.
const barWidth, drawnHeight = 6, 32

// draw draws a webhook's tallies, each an hour.
func (p pictured) draw(tallies []usage.Tally, now time.Time) picture {
	sums, first := make([]usage.Tally, p.bars), p.since(now)
	var all usage.Tally
	for _, t := range tallies {
		i := int(t.BeganAt.Sub(first) / p.bar)
		if t.BeganAt.Before(first) || i >= p.bars {
			continue
		}
		for _, sum := range []*usage.Tally{&sums[i], &all} {
			sum.Succeeded, sum.Failed, sum.Took = sum.Succeeded+t.Succeeded, sum.Failed+t.Failed, sum.Took+t.Took
		}
	}
	total := all.Succeeded + all.Failed
	pic := picture{Span: p.name, Total: grouped(total)}
	if total == 0 {
		return pic
	}
	// Rounded down, so that 100 % is all of them.
	pic.Share = strconv.FormatFloat(float64(all.Succeeded*1000/total)/10, 'f', -1, 64) + " %"
	pic.Mean = took(all.Took.Milliseconds() / total)
	most, slowest := int64(1), time.Duration(1)
	for _, s := range sums {
		most = max(most, s.Succeeded+s.Failed)
		slowest = max(slowest, mean(s))
	}
	var bars, line strings.Builder
	for i, s := range sums {
		x, n := i*barWidth, s.Succeeded+s.Failed
		if n == 0 {
			continue
		}
		high := max(2, int(n*drawnHeight/most))
		// Even a single failure must be visible.
		failed := min(high, int((s.Failed*int64(high)+n-1)/n))
		fmt.Fprintf(&bars, `<rect class="ok" x="%d" y="%d" width="%d" height="%d"/>`, x, drawnHeight-high, barWidth-1, high-failed)
		fmt.Fprintf(&bars, `<rect class="ko" x="%d" y="%d" width="%d" height="%d"/>`, x, drawnHeight-failed, barWidth-1, failed)
		y := drawnHeight - max(2, int(mean(s)*drawnHeight/slowest))
		fmt.Fprintf(&line, `<rect class="took" x="%d" y="%d" width="%d" height="2"/>`, x, y, barWidth-1)
	}
	pic.Bars = p.svg("Attempts in the last "+p.name+": "+pic.Share+" of "+pic.Total+" succeeded", bars.String())
	pic.Line = p.svg("Average time of an attempt in the last "+p.name+": "+pic.Mean+"; at most "+took(slowest.Milliseconds())+" in one part of it", line.String())
	return pic
}

func mean(t usage.Tally) time.Duration {
	if n := t.Succeeded + t.Failed; n > 0 {
		return t.Took / time.Duration(n)
	}
	return 0
}

// svg is a drawing with a name for those who do not see it; both are made of numbers and words of ours.
func (p pictured) svg(name, content string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg role="img" aria-label="%s" viewBox="0 0 %d %d" width="%d" height="%d"><title>%s</title>%s</svg>`, //nolint:gosec // See above.
		name, p.bars*barWidth, drawnHeight, p.bars*barWidth, drawnHeight, name, content))
}

// grouped is a whole number with its thousands apart.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
