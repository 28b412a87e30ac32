package auth

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/ratelimit"
	"go.storefront.example/server/refusal"
)

// fakeAsker notes what it is told; there is no key, and one address asks.
type fakeAsker struct {
	mu    sync.Mutex
	asked int
	added []int // the counts of each call
	used  []int // the uses of each call
	swept int
	err   error
}

// fail makes writing fail from now on, or work again.
func (a *fakeAsker) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// written is how many rows each call of addUnknown and of writeUses had, and the calls of sweep.
func (a *fakeAsker) written() (added, used []int, swept int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.added), slices.Clone(a.used), a.swept
}

func (a *fakeAsker) ask(_ context.Context, q question) (finding, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	return finding{now: *q.now, stored: a.asked, unknown: a.asked}, nil
}

func (a *fakeAsker) addUnknown(_ context.Context, deltas []delta, stored map[string]int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	a.added = append(a.added, len(deltas))
	for _, d := range deltas {
		stored[d.Address] = d.Count
	}
	return nil
}

func (a *fakeAsker) writeUses(_ context.Context, list []use) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	a.used = append(a.used, len(list))
	return nil
}

func (a *fakeAsker) sweep(context.Context, *time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.swept++
	return nil
}

func fakeGate(a *fakeAsker, log *bytes.Buffer) *Gate {
	return &Gate{asker: a, clock: clock{given: time.Now}, log: slog.New(slog.NewTextHandler(log, nil))}
}

func TestRunWritesNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			a   fakeAsker
			log bytes.Buffer
		)
		g := fakeGate(&a, &log)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()

		_, _, err := g.Admit(ctx, []string{"Bearer x"}, numbered(1))
		require.ErrorContains(t, err, string(refusal.APIKeyInvalid))
		g.uses.note(uuid.New(), time.Now())
		pass := func(d time.Duration) (added, used []int, swept int) {
			time.Sleep(d)
			synctest.Wait()
			return a.written()
		}
		added, used, _ := pass(addressEvery + time.Millisecond)
		require.Equal(t, []int{1}, added, "unknown keys after a second")
		require.Empty(t, used)
		added, used, swept := pass(flushEvery - addressEvery)
		require.Equal(t, []int{1}, added, "nothing new, nothing written")
		require.Equal(t, []int{1}, used, "last use after ten")
		require.Equal(t, 1, swept)

		a.fail(errors.New("the database is away"))
		g.uses.note(uuid.New(), time.Now())
		_, used, _ = pass(flushEvery)
		require.Equal(t, []int{1}, used)
		a.fail(nil)
		_, used, _ = pass(flushEvery)
		require.Equal(t, []int{1, 1}, used, "what could not be written is tried again")

		end()
		require.NoError(t, <-ended)
		require.Contains(t, log.String(), "the database is away", "and told")
	})
}

func TestFlushWritesInBatches(t *testing.T) {
	t.Parallel()
	var (
		a   fakeAsker
		log bytes.Buffer
	)
	g := fakeGate(&a, &log)
	g.clock.given = func() time.Time { return time.Unix(0, 0) }
	for i := range batchSize + 1 {
		g.addresses.count(numbered(i), 0)
		g.uses.note(uuid.New(), time.Unix(int64(i), 0))
	}
	require.NoError(t, g.Flush(t.Context()))
	require.Equal(t, []int{batchSize, 1}, a.added)
	require.Equal(t, []int{batchSize, 1}, a.used)
	require.Empty(t, g.addresses.take(0))
	require.Empty(t, g.uses.take())
}

// When no more addresses can be held in memory, malformed keys are counted by the database.
func TestAdmitWithoutRoomInMemory(t *testing.T) {
	t.Parallel()
	var (
		a   fakeAsker
		log bytes.Buffer
	)
	g := fakeGate(&a, &log)
	g.clock.given = func() time.Time { return time.Unix(0, 0) }
	for i := range maxAddresses {
		g.addresses.count(numbered(i), 0)
	}
	late := numbered(maxAddresses)
	for i := range ratelimit.UnknownKeysPerMinute {
		_, _, err := g.Admit(t.Context(), []string{"Bearer x"}, late)
		require.ErrorContains(t, err, string(refusal.APIKeyInvalid))
		require.Equal(t, i+1, a.asked)
	}
	_, rate, err := g.Admit(t.Context(), []string{"Bearer x"}, late)
	require.ErrorContains(t, err, string(refusal.RateLimited))
	require.True(t, rate.Limited)
}
