package queue

import (
	"sort"
	"time"
)

const (
	// fullInterval is how often a search starts from the beginning.
	fullInterval = 10 * time.Second
	// nearReach is how far behind the present every search of the outbox looks, at least. Each
	// passes what was there in the meantime once more, dead rows too: a moment's at most.
	nearReach = 100 * time.Millisecond
	// farReach is how far behind the present a search looks every farInterval: far enough for a
	// transaction of some seconds that committed right after the one before.
	farReach    = 4 * time.Second
	farInterval = time.Second
	// markGap is the least time between two marks.
	markGap = 5 * time.Millisecond
)

// mark is how far the outbox had been taken at some time.
type mark struct {
	id int64
	at time.Time
}

// floor decides above which id the outbox is searched. Transactions may commit in another order than
// they took their ids in, and a search skips locked entries. So each search starts nearReach before
// where the last one ended, one every farInterval starts farReach before, and one every fullInterval
// starts from the beginning. While there is more than a batch, each search continues where the last one
// ended: then no row is passed twice, however many dead rows there are.
type floor struct {
	marks     []mark // of the last farReach, and the one before; both ids and times grow
	farAfter  time.Time
	fullAfter time.Time
	// behind is set while a search is not at its end, which is from then on above resume.
	behind bool
	resume int64
}

// start returns the id above which to look.
func (f *floor) start(now time.Time) int64 {
	if len(f.marks) > 0 && now.Before(f.marks[len(f.marks)-1].at) {
		f.marks = nil // the clock was set back
	}
	far := f.until(now.Add(-farReach))
	if far > 0 {
		f.marks = f.marks[far-1:]
		far = 1
	}
	if isOver(&f.farAfter, now, farInterval) {
		f.goBack(f.id(far))
	}
	if isOver(&f.fullAfter, now, fullInterval) {
		f.goBack(0)
	}
	if f.behind {
		return f.resume
	}
	return f.id(f.until(now.Add(-nearReach)))
}

// until counts the marks up to a time.
func (f *floor) until(t time.Time) int {
	return sort.Search(len(f.marks), func(i int) bool { return f.marks[i].at.After(t) })
}

// id is that of the n-th mark, the first being 1; 0 is before all.
func (f *floor) id(n int) int64 {
	if n == 0 {
		return 0
	}
	return f.marks[n-1].id
}

// goBack makes the next search start above id, if it did not start lower anyway.
func (f *floor) goBack(id int64) {
	if !f.behind || id < f.resume {
		f.behind, f.resume = true, id
	}
}

// found takes in how a search ended: the highest id that it took, and whether it took as many as
// it might, so that there may be more above.
func (f *floor) found(highest int64, now time.Time, more bool) {
	f.behind, f.resume = more, highest
	if n := len(f.marks); highest > f.id(n) && (n == 0 || now.Sub(f.marks[n-1].at) >= markGap) {
		f.marks = append(f.marks, mark{highest, now})
	}
}

// isOver reports whether it is after a time, and if so sets that to an interval from now. A clock
// that was set back does not make anybody wait.
func isOver(after *time.Time, now time.Time, interval time.Duration) bool {
	if !now.After(*after) && !now.Before(after.Add(-interval)) {
		return false
	}
	*after = now.Add(interval)
	return true
}
