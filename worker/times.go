package worker

import (
	"slices"
	"sync"
	"time"
)

// timesKept is how many durations are kept.
const timesKept = 4096

// statementTimes keeps the latest durations of one kind of statement. Goroutines may share it.
type statementTimes struct {
	mu    sync.Mutex
	count int
	last  []time.Duration
}

func (p *statementTimes) took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) < timesKept {
		p.last = append(p.last, d)
	} else {
		p.last[p.count%timesKept] = d
	}
	p.count++
}

// summary returns the number of statements, and the 99th percentile of the latest.
func (p *statementTimes) summary() (count int, p99 time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(p.last))
	return p.count, sorted[(len(sorted)-1)*99/100]
}

// inMilliseconds returns a duration as log lines show it, to the microsecond.
func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
