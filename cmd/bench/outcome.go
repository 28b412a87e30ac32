package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Limits that several scenes use.
const (
	// fairP99 is the largest p99 that another store's answers may have under a fault.
	fairP99 = 250 * time.Millisecond
	// recoveryBound is how soon after a fault all answers must be normal again.
	recoveryBound = time.Second
	// deadlineSlack is how late an answer may arrive, because its transport takes time. On a busy machine busySlack applies.
	deadlineSlack, busySlack = time.Second, 3 * time.Second
)

type outcome struct {
	name, title    string
	judgeSpeed     bool // true if a missed time limit fails the scene (--judge)
	log            []string
	lost, wrong    tally
	before, during []time.Duration // another store's requests before and under the fault; sorted
	bounds         []bound
}

// bound is a condition of a scene, and whether it held.
type bound struct {
	text  string
	held  bool
	speed bool // true if the condition depends on the machine's speed
}

// logf adds a line about what the scene did and saw to the report.
func (o *outcome) logf(format string, args ...any) {
	o.log = append(o.log, fmt.Sprintf(format, args...))
}

// o.must adds a condition that has to hold on any machine.
func (o *outcome) must(held bool, format string, args ...any) {
	o.bounds = append(o.bounds, bound{fmt.Sprintf(format, args...), held, false})
}

// mustFast adds a condition that must hold on a machine that is not busy otherwise.
func (o *outcome) mustFast(held bool, format string, args ...any) {
	o.bounds = append(o.bounds, bound{fmt.Sprintf(format, args...), held, true})
}

// countAnswers counts calls by verdict, and adds the wrong answers to o.wrong.
func (o *outcome) countAnswers(calls []call) (counts [wrong + 1]int) {
	for _, c := range calls {
		counts[c.verdict]++
		if c.verdict == wrong {
			o.wrong.add(c.problem, 1)
		}
	}
	return counts
}

func (o *outcome) answerSummary(calls []call) string {
	counts, times := o.countAnswers(calls), latencies(calls)
	return fmt.Sprintf("%d served, %d refused with 503, %d with 429; p50 %s, longest %s",
		counts[served], counts[refused], counts[limited], roundLatency(percentile(times, 50)), roundLatency(percentile(times, 100)))
}

// mustBeFair adds that none of an unconcerned store's requests is refused, and that their p99 is below fairP99.
func (o *outcome) mustBeFair(calls []call) {
	counts := o.countAnswers(calls)
	turnedDown := counts[refused] + counts[limited]
	o.must(turnedDown == 0, "another store is never refused (%d of %d were)", turnedDown, len(calls))
	o.mustBePrompt(calls)
}

// mustBePrompt adds that the p99 is below fairP99, and allows refusals.
func (o *outcome) mustBePrompt(calls []call) {
	p99 := percentile(latencies(calls), 99)
	o.mustFast(p99 < fairP99, "another store's p99 stays under %s (%s)", fairP99, roundLatency(p99))
}

// mustMeetDeadline adds that no answer arrives later than the deadline plus busySlack.
func (o *outcome) mustMeetDeadline(kind string, calls []call, deadline time.Duration) {
	longest := percentile(latencies(calls), 100)
	o.must(longest <= deadline+busySlack, "every %s ends with its deadline of %s, on a busy machine too (%s)",
		kind, deadline, roundLatency(longest))
	o.mustFast(longest <= deadline+deadlineSlack, "and within %s of it", deadlineSlack)
}

// mustRecover adds that the last bad answer arrives at most recoveryBound after freed, when the fault ended. A bad answer is no
// success or takes longer than limit.
func (o *outcome) mustRecover(calls []call, freed time.Time, limit time.Duration, moment string) {
	took := recovered(calls, freed, limit)
	o.mustFast(took <= recoveryBound, "all is well within %s %s (%s)", recoveryBound, moment, roundLatency(took))
}

// held is true if nothing was lost or wrong, and every condition held; those of speed only with o.judgeSpeed.
func (o *outcome) held() bool {
	if len(o.lost) > 0 || len(o.wrong) > 0 {
		return false
	}
	return !slices.ContainsFunc(o.bounds, func(b bound) bool { return !b.held && (o.judgeSpeed || !b.speed) })
}

func (o *outcome) write(w io.Writer, took time.Duration) {
	fmt.Fprintf(w, "%s: %s (%s)\n", o.name, o.title, took.Round(100*time.Millisecond))
	for _, line := range o.log {
		fmt.Fprintf(w, "  %s\n", line)
	}
	fmt.Fprintf(w, "  lost: %s\n  wrong: %s\n", o.lost, o.wrong)
	if len(o.before) > 0 && len(o.during) > 0 {
		fmt.Fprintf(w, "  bystander: quiet p50 %s, p99 %s; then p50 %s, p99 %s, longest %s\n",
			roundLatency(percentile(o.before, 50)), roundLatency(percentile(o.before, 99)),
			roundLatency(percentile(o.during, 50)), roundLatency(percentile(o.during, 99)), roundLatency(percentile(o.during, 100)))
	}
	for _, bound := range o.bounds {
		verdict := "held"
		switch {
		case !bound.held && bound.speed && !o.judgeSpeed:
			verdict = "not held, and not judged here"
		case !bound.held:
			verdict = "NOT HELD"
		}
		fmt.Fprintf(w, "  %s: %s\n", verdict, bound.text)
	}
	fmt.Fprintln(w)
}

// roundLatency rounds to 10 µs, or to 100 µs from 10 ms on.
func roundLatency(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Microsecond)
}

// tally counts cases by their description. The zero value is empty.
type tally map[string]int

func (t *tally) add(description string, n int) {
	if n == 0 {
		return
	}
	if *t == nil {
		*t = tally{}
	}
	(*t)[description] += n
}

const maxTallyKinds = 6

// String lists the most frequent cases, or returns "nothing".
func (t tally) String() string {
	if len(t) == 0 {
		return "nothing"
	}
	kinds := slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(t[b]-t[a], strings.Compare(a, b)) })
	var parts []string
	for n, kind := range kinds {
		if n == maxTallyKinds {
			parts = append(parts, fmt.Sprintf("%d other kinds", len(kinds)-n))
			break
		}
		parts = append(parts, fmt.Sprintf("%d × %s", t[kind], kind))
	}
	return strings.Join(parts, "; ")
}
