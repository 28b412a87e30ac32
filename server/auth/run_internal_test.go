package auth

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/limit"
)

// fakeKeys records its calls; it has no key and one address.
type fakeKeys struct {
	mu    sync.Mutex
	asked int
	used  []int // the uses of each call
	swept int
	// counts is how often the counters in memory were to be written.
	counts int
	err    error
}

// fail makes writing fail from now on, or work again.
func (a *fakeKeys) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// written is how many rows each call of writeUses had, and the calls of sweep.
func (a *fakeKeys) written() (used []int, swept int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.used), a.swept
}

func (a *fakeKeys) find(_ context.Context, q lookup) (result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	return result{now: *q.now, unknown: a.asked}, nil
}

func (a *fakeKeys) writeUses(_ context.Context, list []use) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	a.used = append(a.used, len(list))
	return nil
}

func (a *fakeKeys) writeCounts(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts++
	return a.err
}

func (a *fakeKeys) sweep(context.Context, *time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.swept++
	return nil
}

func fakeGate(a *fakeKeys, log *bytes.Buffer) *Gate {
	return &Gate{keyStore: a, batches: batches{alone: a, most: 1}, clock: clock{given: time.Now},
		log: slog.New(slog.NewTextHandler(log, nil))}
}

func TestRunWritesNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			a   fakeKeys
			log bytes.Buffer
		)
		g := fakeGate(&a, &log)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()

		g.uses.note(uuid.New(), time.Now())
		pass := func(d time.Duration) (used []int, swept int) {
			time.Sleep(d)
			synctest.Wait()
			return a.written()
		}
		used, _ := pass(flushEvery - time.Millisecond)
		require.Empty(t, used)
		a.mu.Lock()
		require.Equal(t, int((flushEvery-time.Millisecond)/countsEvery), a.counts, "counters more often")
		a.mu.Unlock()
		used, swept := pass(2 * time.Millisecond)
		require.Equal(t, []int{1}, used, "last use after half a minute")
		require.Equal(t, 1, swept)

		a.fail(errors.New("the database is away"))
		g.uses.note(uuid.New(), time.Now())
		used, _ = pass(flushEvery)
		require.Equal(t, []int{1}, used)
		a.fail(nil)
		used, _ = pass(flushEvery)
		require.Equal(t, []int{1, 1}, used, "what could not be written is tried again")

		end()
		require.NoError(t, <-ended)
		require.Contains(t, log.String(), "the database is away", "and told")
	})
}

func TestFlushWritesInBatches(t *testing.T) {
	t.Parallel()
	var (
		a   fakeKeys
		log bytes.Buffer
	)
	g := fakeGate(&a, &log)
	g.clock.given = func() time.Time { return time.Unix(0, 0) }
	for i := range batchSize + 1 {
		g.uses.note(uuid.New(), time.Unix(int64(i), 0))
	}
	require.NoError(t, g.Flush(t.Context()))
	require.Equal(t, []int{batchSize, 1}, a.used)
	require.Empty(t, g.uses.take())
}

// A client that does not fit in memory is refused by the database.
func TestAdmitWithoutRoomInMemory(t *testing.T) {
	t.Parallel()
	var (
		a   fakeKeys
		log bytes.Buffer
	)
	g := fakeGate(&a, &log)
	g.clock.given = func() time.Time { return time.Unix(0, 0) }
	for i := range maxClients {
		g.blocked.add(numbered(i), 0)
	}
	late := netip.MustParseAddr("2001:db8::7")
	for i := range limit.UnknownKeysPerMinute {
		_, _, err := g.Admit(t.Context(), []string{"Bearer x"}, late)
		require.ErrorContains(t, err, string(apierr.APIKeyInvalid))
		require.Equal(t, i+1, a.asked)
	}
	for range 2 {
		_, rate, err := g.Admit(t.Context(), []string{"Bearer x"}, late)
		require.ErrorContains(t, err, string(apierr.RateLimited))
		require.True(t, rate.Limited)
	}
	require.Equal(t, limit.UnknownKeysPerMinute+2, a.asked)
}
