package overload_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/overload"
)

var greedy, other = uuid.New(), uuid.New()

// hold enters n requests of a party, each of which must be served at once.
func hold(t *testing.T, l *overload.Limiter, who overload.Party, n int) {
	t.Helper()
	for range n {
		require.NoError(t, l.Enter(t.Context(), who))
	}
}

// enter starts to wait in a goroutine, and sends the result.
func enter(ctx context.Context, l *overload.Limiter, who overload.Party) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- l.Enter(ctx, who) }()
	synctest.Wait()
	return ended
}

func pending(t *testing.T, ended <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-ended:
		t.Fatalf("it no longer waits: %v", err)
	default:
	}
}

func TestOnePartyLeavesTheRestToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := overload.New(4, 2, 8)
		hold(t, l, greedy, 2)
		var waits []<-chan error
		for range 4 {
			waits = append(waits, enter(t.Context(), l, greedy))
		}
		require.ErrorIs(t, l.Enter(t.Context(), greedy), overload.ErrRefused, "it has half of the places to wait")
		hold(t, l, other, 2)
		require.Equal(t, overload.Load{Running: 4, Waiting: 4, Refused: 1}, l.Load())
		l.Leave(other, time.Millisecond)
		for _, w := range waits {
			pending(t, w)
		}
		hold(t, l, other, 1)
		l.Leave(greedy, time.Millisecond)
		require.NoError(t, <-waits[0], "its own slot goes to its own oldest")
		require.Equal(t, overload.Load{Running: 4, Waiting: 3, Refused: 1}, l.Load())
		drain(l, waits[1:])
	})
}

// drain lets everything that waits run out of time.
func drain(_ *overload.Limiter, waits []<-chan error) {
	for _, w := range waits {
		<-w
	}
}

func TestAWaiterOfAnotherPartyIsNotBehindAGreedyOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := overload.New(2, 1, 100)
		hold(t, l, greedy, 1)
		var waits []<-chan error
		for range 40 {
			waits = append(waits, enter(t.Context(), l, greedy))
		}
		hold(t, l, other, 1)
		third := enter(t.Context(), l, uuid.New())
		l.Leave(other, time.Millisecond)
		require.NoError(t, <-third)
		for _, w := range waits {
			pending(t, w)
		}
		drain(l, waits)
		require.Equal(t, overload.Load{Running: 2, Waiting: 0, Refused: 40}, l.Load())
	})
}

// A standing queue allows only short waits; a new one allows long ones.
func TestAQueueThatStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := overload.New(1, 1, 100)
		hold(t, l, greedy, 1)
		first := enter(t.Context(), l, other)
		second := enter(t.Context(), l, other)
		time.Sleep(99 * time.Millisecond)
		l.Leave(greedy, time.Millisecond)
		require.NoError(t, <-first, "the oldest is served first")

		// From now on it has stood for a tenth of a second.
		time.Sleep(2 * time.Millisecond)
		third := enter(t.Context(), l, uuid.New())
		began := time.Now()
		require.ErrorIs(t, <-third, overload.ErrRefused)
		require.Equal(t, 50*time.Millisecond, time.Since(began))
		pending(t, second)
		l.Leave(other, time.Millisecond)
		require.NoError(t, <-second)
		l.Leave(other, time.Millisecond)
		hold(t, l, greedy, 1)

		// Once no request waits, it is a new queue.
		began = time.Now()
		late := enter(t.Context(), l, uuid.New())
		require.ErrorIs(t, <-late, overload.ErrRefused)
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}

// A request that gave its slot back has cost something already, and may wait longer for another.
func TestWhoHadASlotMayWaitLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := overload.New(1, 1, 100)
		hold(t, l, greedy, 1)
		first := enter(t.Context(), l, other)
		time.Sleep(101 * time.Millisecond)
		began := time.Now()
		require.ErrorIs(t, l.Reenter(t.Context(), uuid.New()), overload.ErrRefused)
		require.Equal(t, 3*time.Second, time.Since(began))
		drain(l, []<-chan error{first})
	})
}

// The wait grows with the duration of requests, because slots take longer to become free.
func TestTheWaitGrowsWithWhatARequestTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := overload.New(1, 1, 100)
		for range 100 {
			hold(t, l, other, 1)
			l.Leave(other, 100*time.Millisecond)
		}
		hold(t, l, greedy, 1)
		standing := enter(t.Context(), l, other)
		time.Sleep(150 * time.Millisecond)
		began := time.Now()
		require.ErrorIs(t, <-enter(t.Context(), l, uuid.New()), overload.ErrRefused)
		require.Equal(t, 400*time.Millisecond, time.Since(began))
		drain(l, []<-chan error{standing})
	})
}

func TestWhoLeavesTheQueueGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := overload.New(1, 1, 2)
		hold(t, l, greedy, 1)
		gone := errors.New("gone")
		ctx, leave := context.WithCancelCause(t.Context())
		waits := enter(ctx, l, other)
		require.ErrorIs(t, l.Enter(ctx, other), overload.ErrRefused, "half of two places is one")
		leave(gone)
		require.ErrorIs(t, <-waits, gone)
		require.Equal(t, overload.Load{Running: 1, Refused: 1}, l.Load())
		next := enter(t.Context(), l, other)
		l.Leave(greedy, time.Millisecond)
		require.NoError(t, <-next)
		l.Leave(other, time.Millisecond)
		require.Equal(t, overload.Load{Refused: 1}, l.Load())
	})
}

// Requests arrive, wait, give up and leave at once: no slot is lost and none is given twice.
func TestNoSlotIsLost(t *testing.T) {
	t.Parallel()
	const slots, share = 5, 2
	l := overload.New(slots, share, 40)
	var (
		group   sync.WaitGroup
		mu      sync.Mutex
		running = map[overload.Party]int{}
		total   int
	)
	parties := []overload.Party{greedy, other, uuid.New(), uuid.New()}
	for i := range 64 {
		group.Go(func() {
			for n := range 200 {
				who := parties[(i+n)%len(parties)]
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%7)*100*time.Microsecond)
				if l.Enter(ctx, who) == nil {
					mu.Lock()
					running[who]++
					total++
					over := running[who] > share || total > slots
					mu.Unlock()
					if over {
						t.Error("more are served than may be")
					}
					mu.Lock()
					running[who]--
					total--
					mu.Unlock()
					l.Leave(who, time.Microsecond)
				}
				cancel()
			}
		})
	}
	group.Wait()
	load := l.Load()
	require.Zero(t, load.Running)
	require.Zero(t, load.Waiting)
	hold(t, l, greedy, share)
	hold(t, l, other, share)
}

func BenchmarkLimiterEnterFree(b *testing.B) {
	l := overload.New(1000, 1000, 0)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if l.Enter(b.Context(), greedy) == nil {
				l.Leave(greedy, time.Millisecond)
			}
		}
	})
}

// In a standing queue, who comes next is turned away once those before it fill the wait; the only request of its party
// is not, nor is anybody in a new queue.
func TestWhoWouldWaitInVainIsTurnedAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := overload.New(2, 2, 8)
		hold(t, l, greedy, 2)
		l.Leave(greedy, 40*time.Millisecond)
		hold(t, l, greedy, 1)
		for _, before := range []int{0, 1, 2} {
			require.False(t, l.TurnAway(greedy), "%d wait, not for long", before)
			enter(t.Context(), l, greedy)
		}
		require.False(t, l.TurnAway(greedy), "three wait, in a new queue")
		time.Sleep(150 * time.Millisecond)
		require.True(t, l.TurnAway(greedy), "three wait, each 40 ms, for two slots")
		require.False(t, l.TurnAway(other))
		require.Equal(t, overload.Load{Running: 2, Waiting: 3, Refused: 1}, l.Load())
		l.Leave(greedy, 40*time.Millisecond)
		require.False(t, l.TurnAway(greedy), "two wait, and fill less")
		for range 4 {
			l.Leave(greedy, 40*time.Millisecond)
			synctest.Wait()
		}
		require.False(t, l.TurnAway(greedy), "nobody waits")
	})
}
