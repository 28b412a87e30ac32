package main

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestAnswersAreJudged(t *testing.T) {
	t.Parallel()
	ours := func(status, code string) string {
		return `{"statusCode":` + status + `,"code":"` + code + `","requestId":"` + uuid.NewString() + `","timestamp":"…"}`
	}
	for _, row := range []struct {
		why        string
		status     int
		body       string
		retryAfter bool
		verdict    verdict
		what       string
	}{
		{"a success", 201, `{}`, false, served, ""},
		{"our 503", 503, ours("503", "unavailable"), true, refused, "503 unavailable"},
		{"our 503 without the header", 503, ours("503", "unavailable"), false, wrong, "503 unavailable without Retry-After"},
		{"a proxy's 503", 503, "<html>", true, wrong, "503 without our body"},
		{"a body of another status", 503, ours("500", "unavailable"), true, wrong, "503 without our body"},
		{"our 429", 429, ours("429", "rate_limited"), true, limited, "429 rate_limited"},
		{"our 500", 500, ours("500", "internal_error"), false, wrong, "500 internal_error"},
		{"another code", 503, ours("503", "internal_error"), true, wrong, "503 internal_error"},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			verdict, what := classify(row.status, []byte(row.body), row.retryAfter)
			require.Equal(t, row.verdict, verdict)
			require.Equal(t, row.what, what)
		})
	}
}

func TestARecoveryEndsWithTheLastCallThatWasNotServedInTime(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	at := func(due, took time.Duration, v verdict) call { return call{due: from.Add(due), took: took, verdict: v} }
	calls := []call{
		at(-time.Second, time.Minute, wrong), // before the fault
		at(time.Second, 300*time.Millisecond, refused),
		at(2*time.Second, 300*time.Millisecond, served),
		at(3*time.Second, 10*time.Millisecond, served),
	}
	require.Equal(t, 2300*time.Millisecond, recovered(calls, from, 100*time.Millisecond))
	require.Equal(t, 1300*time.Millisecond, recovered(calls, from, time.Second))
	require.Zero(t, recovered(calls[3:], from, time.Second))
}

func TestAnOutcomeHoldsUnlessSomethingWasLostOrWrong(t *testing.T) {
	t.Parallel()
	var o outcome
	o.mustFast(false, "fast")
	require.True(t, o.held(), "what took too long is printed")
	o.judgeSpeed = true
	require.False(t, o.held(), "and judged on request")
	o = outcome{}
	o.must(false, "right")
	require.False(t, o.held())
	o = outcome{}
	o.lost.add("event", 0)
	require.True(t, o.held())
	o.lost.add("event", 1)
	require.False(t, o.held())
	var b strings.Builder
	o.write(&b, time.Second)
	require.Contains(t, b.String(), "lost: 1 × event\n  wrong: nothing\n")
}

func TestAFullTallyShowsTheMostFrequentKinds(t *testing.T) {
	t.Parallel()
	var all tally
	for n := range maxTallyKinds + 2 {
		all.add(strings.Repeat("x", n+1), n+1)
	}
	require.True(t, strings.HasPrefix(all.String(), "8 × xxxxxxxx; 7 × "), all.String())
	require.True(t, strings.HasSuffix(all.String(), "; 2 other kinds"), all.String())
}

func TestASceneIsPlayedFromStartToEnd(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("no file names whom the worker trusts")
	}
	code, out := bench(t, "chaos", "--sqlite", "--scene=large-disable", "--waiting=300", "--span=300ms")
	require.Zero(t, code, out)
	require.Contains(t, out, "large-disable, SQLite: ")
	require.Contains(t, out, "300 deliveries waiting")
	require.Contains(t, out, "lost: nothing\n  wrong: nothing\n  bystander: quiet p50 ")
	require.Contains(t, out, "held: all that waited is cancelled")
}

func TestASceneEndsWhatItBeganInReverse(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why  string
		then func(p *play)
		skip skipped
		err  string
	}{
		{"it is played to its end", func(*play) {}, "", ""},
		{"a step fails", func(p *play) { p.require(errors.New("no room")) }, "", "no room"},
		{"it cannot be played here", func(*play) { panic(skipped("no root")) }, "no root", ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			var ended []int
			p := &play{}
			skip, err := p.run(scene{play: func(p *play) {
				p.cleanup(func() error { ended = append(ended, 1); return nil })
				p.cleanup(func() error { ended = append(ended, 2); return nil })
				row.then(p)
			}})
			require.Equal(t, row.skip, skip)
			if row.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, row.err)
			}
			require.Equal(t, []int{2, 1}, ended)
		})
	}
}
