package limit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/limit"
)

var storeA, storeB = uuid.UUID{1}, uuid.UUID{2}

func take(t *testing.T, s *limit.Slots, owner uuid.UUID, search bool) func() {
	t.Helper()
	release, err := s.Acquire(t.Context(), owner, search)
	require.NoError(t, err)
	return release
}

func TestAnOwnerHasItsShareOfTheSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := limit.NewSlots(4, 2)
		first, second := take(t, s, storeA, false), take(t, s, storeA, false)
		began := time.Now()
		_, err := s.Acquire(t.Context(), storeA, false)
		require.ErrorIs(t, err, limit.ErrBusy)
		require.Less(t, time.Since(began), 10*time.Second, "within the deadline of a request")
		require.Positive(t, time.Since(began))
		take(t, s, storeB, false)()
		require.Equal(t, limit.Load{Running: 2, Refused: 1}, s.Load())
		first()
		second()
		require.Equal(t, limit.Load{Refused: 1}, s.Load())
	})
}

func TestThoseWhoWaitAreServedInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := limit.NewSlots(2, 1)
		a, b := take(t, s, storeA, false), take(t, s, storeB, false)
		turns := make(chan string, 3)
		for _, w := range []struct {
			name  string
			owner uuid.UUID
		}{{"a1", storeA}, {"a2", storeA}, {"b1", storeB}} {
			go func() {
				release := take(t, s, w.owner, false)
				turns <- w.name
				time.Sleep(time.Millisecond)
				release()
			}()
			synctest.Wait()
		}
		require.Equal(t, limit.Load{Running: 2, Waiting: 3}, s.Load())
		b()
		synctest.Wait()
		require.Equal(t, "b1", <-turns, "the first whose store has less than its share")
		a()
		require.Equal(t, []string{"a1", "a2"}, []string{<-turns, <-turns})
		time.Sleep(time.Second)
		require.Equal(t, limit.Load{}, s.Load())
	})
}

func TestSearchesHaveASmallerShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := limit.NewSlots(16, 8)
		one, two := take(t, s, storeA, true), take(t, s, storeA, true)
		_, err := s.Acquire(t.Context(), storeA, true)
		require.ErrorIs(t, err, limit.ErrBusy)
		other, plain := take(t, s, storeB, true), take(t, s, storeA, false)
		time.AfterFunc(time.Second, one)
		third := take(t, s, storeA, true)
		for _, giveBack := range []func(){two, other, plain, third} {
			giveBack()
		}
		require.Zero(t, s.Load().Running)
	})
}

func TestWhoLeavesWaitsNoLonger(t *testing.T) {
	t.Parallel()
	s := limit.NewSlots(1, 1)
	giveBack := take(t, s, storeA, false)
	left := errors.New("left")
	ctx, leave := context.WithCancelCause(t.Context())
	leave(left)
	_, err := s.Acquire(ctx, storeB, false)
	require.ErrorIs(t, err, left)
	giveBack()
	require.Equal(t, limit.Load{}, s.Load(), "it counts neither as waiting nor as refused")
}

func TestSoManyWaitAndNoMore(t *testing.T) {
	t.Parallel()
	const waiting = 1024 // the value of maxWaiting; half of the waiting requests may be of one owner
	synctest.Test(t, func(t *testing.T) {
		s := limit.NewSlots(2, 1)
		a, b := take(t, s, storeA, false), take(t, s, storeB, false)
		wait := func(owner uuid.UUID) { _, _ = s.Acquire(t.Context(), owner, false) }
		for range waiting / 2 {
			go wait(storeA)
		}
		synctest.Wait()
		began := time.Now()
		_, err := s.Acquire(t.Context(), storeA, false)
		require.ErrorIs(t, err, limit.ErrBusy)
		for range waiting / 2 {
			go wait(storeB)
		}
		synctest.Wait()
		_, err = s.Acquire(t.Context(), uuid.UUID{3}, false)
		require.ErrorIs(t, err, limit.ErrBusy)
		require.Zero(t, time.Since(began), "it is refused at once")
		time.Sleep(time.Minute)
		a()
		b()
		require.Equal(t, limit.Load{Refused: waiting + 2}, s.Load())
	})
}

func TestAPoolWhoseSlotsAreTakenLeavesThoseOfOthers(t *testing.T) {
	t.Parallel()
	near, far := uuid.New(), uuid.New()
	slots := limit.NewSlots(1, 1).PerPool(func(store uuid.UUID) any { return store == far })
	_, err := slots.Acquire(t.Context(), far, false)
	require.NoError(t, err)
	for _, id := range []uuid.UUID{near, limit.Operator} {
		_, err = slots.Acquire(t.Context(), id, false)
		require.NoError(t, err, "a store with another pool, and who is no store, are let in")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = slots.Acquire(ctx, far, false)
	require.Error(t, err)
}
