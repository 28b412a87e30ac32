package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// outcome is what a scene came to.
type outcome struct {
	name, title string
	judged      bool // whether what took too long counts
	did         []string
	lost        tally
	wrong       tally
	quiet, then []time.Duration // the bystander's answers, sorted: before the fault and under it
	bounds      []bound
}

// bound is something that must hold.
type bound struct {
	text  string
	held  bool
	speed bool // whether it depends on the machine
}

// didf adds a line about what was done and seen.
func (o *outcome) didf(format string, args ...any) {
	o.did = append(o.did, fmt.Sprintf(format, args...))
}

// must adds what has to hold on any machine.
func (o *outcome) must(held bool, format string, args ...any) {
	o.bounds = append(o.bounds, bound{fmt.Sprintf(format, args...), held, false})
}

// mustFast adds what has to hold on a machine that is not busy otherwise.
func (o *outcome) mustFast(held bool, format string, args ...any) {
	o.bounds = append(o.bounds, bound{fmt.Sprintf(format, args...), held, true})
}

// bystander takes in the bystander's answers.
func (o *outcome) bystander(quiet, then []call) {
	o.quiet, o.then = latencies(quiet), latencies(then)
}

// ratio is the bystander's p99 under the fault over its quiet one.
func (o *outcome) ratio() float64 { return ratioOf(o.quiet, o.then) }

// ratioOf is the p99 of sorted times over that of others, 0 when there are none.
func ratioOf(quiet, then []time.Duration) float64 {
	if p99 := percentile(quiet, 99); p99 > 0 {
		return float64(percentile(then, 99)) / float64(p99)
	}
	return 0
}

// held reports whether all has held that counts.
func (o *outcome) held() bool {
	if o.lost.sum() > 0 || o.wrong.sum() > 0 {
		return false
	}
	return !slices.ContainsFunc(o.bounds, func(b bound) bool { return !b.held && (o.judged || !b.speed) })
}

// write prints the outcome.
func (o *outcome) write(w io.Writer, took time.Duration) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s)\n", o.name, o.title, took.Round(100*time.Millisecond))
	for _, line := range o.did {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	fmt.Fprintf(&b, "  lost: %s\n  wrong: %s\n", o.lost.String(), o.wrong.String())
	if len(o.quiet) > 0 && len(o.then) > 0 {
		fmt.Fprintf(&b, "  bystander: quiet p50 %s, p99 %s; then p50 %s, p99 %s, longest %s: %.1f times the quiet p99\n",
			fine(percentile(o.quiet, 50)), fine(percentile(o.quiet, 99)), fine(percentile(o.then, 50)), fine(percentile(o.then, 99)),
			fine(percentile(o.then, 100)), o.ratio())
	}
	for _, bound := range o.bounds {
		verdict := "held"
		switch {
		case !bound.held && bound.speed && !o.judged:
			verdict = "not held, and not judged here"
		case !bound.held:
			verdict = "NOT HELD"
		}
		fmt.Fprintf(&b, "  %s: %s\n", verdict, bound.text)
	}
	_, _ = fmt.Fprintln(w, b.String())
}

// so is what was done before a scene broke off.
func (o *outcome) so() string {
	if len(o.did) == 0 {
		return ""
	}
	return strings.Join(o.did, "; ") + ": "
}

// fine is a time with the digits that a latency is worth.
func fine(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Microsecond)
}

// tally counts cases by what they are. The zero value is empty.
type tally struct {
	counts map[string]int
}

func (t *tally) add(what string, n int) {
	if n == 0 {
		return
	}
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what] += n
}

func (t *tally) sum() int {
	sum := 0
	for _, n := range t.counts {
		sum += n
	}
	return sum
}

// tallied is how many kinds of cases are printed.
const tallied = 6

// String is the most frequent cases, or nothing.
func (t *tally) String() string {
	if len(t.counts) == 0 {
		return "nothing"
	}
	kinds := make([]string, 0, len(t.counts))
	for kind := range t.counts {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		if d := t.counts[b] - t.counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for n, kind := range kinds {
		if n == tallied {
			parts = append(parts, fmt.Sprintf("%d other kinds", len(kinds)-n))
			break
		}
		parts = append(parts, fmt.Sprintf("%d × %s", t.counts[kind], kind))
	}
	return strings.Join(parts, "; ")
}
