package worker

import (
	"slices"
	"sync"
	"time"
)

// paceKept is how many durations are kept.
const paceKept = 4096

// pace keeps the latest durations of one kind of statement. Goroutines may share it.
type pace struct {
	mu    sync.Mutex
	count int
	last  []time.Duration
}

func (p *pace) took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) < paceKept {
		p.last = append(p.last, d)
	} else {
		p.last[p.count%paceKept] = d
	}
	p.count++
}

// summary returns the number of statements, and the 99th percentile of the latest.
func (p *pace) summary() (count int, p99 time.Duration) {
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
