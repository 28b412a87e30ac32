package worker

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"go.storefront.example/ent/queue"
)

func laneOf(store, webhook byte, retry bool) queue.Lane {
	return queue.Lane{StoreID: uuid.UUID{store}, WebhookID: uuid.UUID{store, webhook}, Retry: retry}
}

// begin begins an attempt as a claim does, if the pool allows it.
func (l *lanePool) begin(lane queue.Lane) bool {
	if l.room(l.webhook(lane)) == 0 {
		return false
	}
	l.start(lane)
	return true
}

// fill begins attempts until the pool allows no more, and returns how many.
func fill(l *lanePool, lane queue.Lane) int {
	n := 0
	for l.begin(lane) {
		n++
	}
	return n
}

func TestWindowOfAWebhook(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		states []receiverState
		want   int
	}{
		{"nothing is known of it", nil, 4},
		{"it grows with each success", []receiverState{receiverSucceeded, receiverSucceeded}, 6},
		{"up to an eighth of all", slices.Repeat([]receiverState{receiverSucceeded}, 100), 16},
		{"a failure halves it", append(slices.Repeat([]receiverState{receiverSucceeded}, 100), receiverFailed), 8},
		{"and so on, down to two", append(slices.Repeat([]receiverState{receiverSucceeded}, 100),
			slices.Repeat([]receiverState{receiverFailed}, 10)...),
			2},
		{"attempts not made change nothing", []receiverState{receiverUnknown, receiverUnknown, receiverUnknown}, 4},
		{"it recovers", []receiverState{receiverFailed, receiverFailed, receiverSucceeded, receiverSucceeded}, 4},
	}
	for _, row := range rows {
		l, lane := newLanes(128), laneOf(1, 1, false)
		for _, v := range row.states {
			require.True(t, l.begin(lane))
			l.end(lane, v, time.Time{})
		}
		require.Equal(t, row.want, fill(l, lane), row.reason)
	}
}

func TestBoundsOfStoresAndOfTheUnproven(t *testing.T) {
	t.Parallel()
	prove := func(l *lanePool, lane queue.Lane) {
		for range 20 {
			require.True(t, l.begin(lane))
			l.end(lane, receiverSucceeded, time.Time{})
		}
	}
	l := newLanes(64)
	total := 0
	for n := range byte(5) {
		prove(l, laneOf(1, n, false))
	}
	for n := range byte(5) {
		total += fill(l, laneOf(1, n, false))
	}
	require.Equal(t, 16, total, "a store has a quarter")

	l, total = newLanes(64), 0
	for store := range byte(100) {
		total += fill(l, laneOf(store, 0, false))
	}
	require.Equal(t, 32, total, "what nothing is known of has a half in all")
	known := laneOf(200, 0, false)
	w := l.webhook(known)
	w.proven, w.window = true, l.maxWindow
	require.Equal(t, 8, fill(l, known), "and leaves the other to what answers")

	l = newLanes(1)
	require.Equal(t, 1, fill(l, known), "one is enough to go on with")
	l.end(known, receiverFailed, time.Time{})
	require.Equal(t, 1, fill(l, known))
}

func TestWhatWaitsGoesFirst(t *testing.T) {
	t.Parallel()
	l := newLanes(64)
	first, retry := laneOf(1, 1, false), laneOf(1, 1, true)
	l.markWaiting(retry)
	require.True(t, l.begin(first))
	l.markWaiting(first)
	wants := l.claimRequests()
	require.Equal(t, []queue.ClaimRequest{{Lane: first, Max: 3}}, wants)
	l.claimed(wants, []queue.Delivery{{Lane: first}})
	wants = l.claimRequests()
	require.Equal(t, []queue.ClaimRequest{{Lane: retry, Max: 2}}, wants, "fewer than it might: the first attempts are through")
	l.claimed(wants, []queue.Delivery{{Lane: retry}, {Lane: retry}})
	require.Empty(t, l.claimRequests(), "its window is full")
	for range 4 {
		l.end(first, receiverSucceeded, time.Time{})
	}
	require.Equal(t, []queue.ClaimRequest{{Lane: retry, Max: 8}}, l.claimRequests())

	l = newLanes(64)
	l.markWaiting(retry)
	require.Equal(t, firstWindow, fill(l, first))
	l.end(first, receiverUnknown, time.Time{})
	l.markWaiting(first)
	wants = l.claimRequests()
	require.Equal(t, []queue.ClaimRequest{{Lane: retry, Max: 1}}, wants, "which are next")
	l.claimed(wants, []queue.Delivery{{Lane: retry}})
	l.end(retry, receiverUnknown, time.Time{})
	require.Equal(t, []queue.ClaimRequest{{Lane: first, Max: 1}}, l.claimRequests(), "and then new events again")
}

func TestWebhooksWithoutWorkAreForgotten(t *testing.T) {
	t.Parallel()
	l, now := newLanes(64), time.Unix(1_000_000, 0)
	idle, busy, waiting := laneOf(1, 1, false), laneOf(2, 1, false), laneOf(3, 1, false)
	l.begin(idle)
	l.end(idle, receiverSucceeded, now)
	l.begin(busy)
	l.markWaiting(waiting)
	l.forget(now.Add(forgetAfter - time.Second))
	require.Len(t, l.webhooks, 3)
	l.forget(now.Add(3 * forgetAfter))
	require.ElementsMatch(t, []uuid.UUID{busy.WebhookID, waiting.WebhookID}, slices.Collect(maps.Keys(l.webhooks)))
}

// After any operations, the totals equal the sums over the webhooks, and all bounds hold.
func TestLanesKeepTheirBooks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLanes(rapid.IntRange(1, 40).Draw(t, "concurrency"))
		var flying []queue.Lane
		failed := 0 // the most running attempts whose webhook was proven when they began and is unproven now
		randomLane := func(retry bool) queue.Lane {
			return laneOf(rapid.ByteRange(1, 3).Draw(t, "store"), rapid.ByteRange(1, 3).Draw(t, "webhook"), retry)
		}
		land := func() queue.Lane {
			if len(flying) == 0 {
				t.Skip()
			}
			at := rapid.IntRange(0, len(flying)-1).Draw(t, "which")
			lane := flying[at]
			flying = slices.Delete(flying, at, at+1)
			return lane
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(*rapid.T) {
				if lane := randomLane(false); l.begin(lane) {
					flying = append(flying, lane)
				}
			},
			"wait": func(t *rapid.T) { l.markWaiting(randomLane(rapid.Bool().Draw(t, "retry"))) },
			"claim": func(t *rapid.T) {
				wants := l.claimRequests()
				var got []queue.Delivery
				for _, want := range wants {
					if want.Max <= 0 {
						t.Fatalf("a want of %d", want.Max)
					}
					for range rapid.IntRange(0, want.Max).Draw(t, "got") {
						got = append(got, queue.Delivery{Lane: want.Lane})
						flying = append(flying, want.Lane)
					}
				}
				l.claimed(wants, got)
			},
			"end": func(t *rapid.T) {
				states := []receiverState{receiverUnknown, receiverSucceeded, receiverFailed}
				lane, v := land(), rapid.SampledFrom(states).Draw(t, "receiver")
				if v == receiverFailed && l.webhook(lane).proven {
					failed += l.webhook(lane).inFlight
				}
				l.end(lane, v, time.Unix(1, 0))
			},
			"give back": func(*rapid.T) { l.release(land()) },
			"forget":    func(*rapid.T) { l.forget(l.swept.Add(forgetAfter)) },
			"": func(t *rapid.T) {
				inFlight, unproven, stores := 0, 0, map[uuid.UUID]int{}
				count := map[uuid.UUID]int{}
				for _, lane := range flying {
					count[lane.WebhookID]++
				}
				for id, w := range l.webhooks {
					inFlight += w.inFlight
					if !w.proven {
						unproven += w.inFlight
					}
					if w.inFlight > 0 {
						stores[w.store] += w.inFlight
					}
					require.Equal(t, count[id], w.inFlight)
					require.GreaterOrEqual(t, w.window, 1)
					require.LessOrEqual(t, w.window, l.maxWindow)
					require.LessOrEqual(t, w.inFlight, l.maxWindow)
				}
				require.Equal(t, len(flying), inFlight)
				require.Equal(t, inFlight, l.inFlight)
				require.Equal(t, unproven, l.unprovenInFlight)
				require.Equal(t, stores, l.stores)
				require.LessOrEqual(t, l.inFlight, l.limit)
				for _, n := range stores {
					require.LessOrEqual(t, n, l.perStoreLimit)
				}
				require.LessOrEqual(t, l.unprovenInFlight, l.unprovenLimit+failed, "only those that failed lately are above")
			},
		})
	})
}
