package worker

import (
	"slices"
	"sync"
	"time"
)

// paceKept is how many of the latest are remembered.
const paceKept = 4096

// pace remembers how long the latest statements of one kind took. Goroutines may share it.
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

// told returns how many there were, and the time that 99 in 100 of the latest did not
// exceed.
func (p *pace) told() (count int, p99 time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(p.last))
	return p.count, sorted[(len(sorted)-1)*99/100]
}

// inMilliseconds is a duration as every log line of the service tells it, to the microsecond.
func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
