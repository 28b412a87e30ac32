package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slow answers a statement after a millisecond and, if held has a channel for one of its clients, once the test closes that.
type slow struct {
	mu      sync.Mutex
	batches [][]string // the clients of each statement
	err     error
	held    map[string]chan struct{}
}

func (s *slow) run(_ context.Context, lookups []lookup) ([]lookupResult, error) {
	clients, found := make([]string, len(lookups)), make([]lookupResult, len(lookups))
	for i, q := range lookups {
		clients[i], found[i].principal.KeyName = q.client, q.client
	}
	s.mu.Lock()
	s.batches = append(s.batches, clients)
	s.mu.Unlock()
	for _, client := range clients {
		if let := s.held[client]; let != nil {
			<-let
		}
	}
	time.Sleep(time.Millisecond)
	return found, s.err
}

// ask sends one lookup for each client, one after the other. errs waits for them.
func ask(ctx context.Context, b *batcher, clients ...string) (errs func() []error) {
	all := make([]error, len(clients))
	var asked sync.WaitGroup
	for i, client := range clients {
		asked.Go(func() {
			found, err := b.find(ctx, lookup{client: client})
			if err == nil && found.principal.KeyName != client {
				err = fmt.Errorf("client %s got the answer of %s", client, found.principal.KeyName)
			}
			all[i] = err
		})
		synctest.Wait()
	}
	return func() []error {
		asked.Wait()
		synctest.Wait()
		return all
	}
}

func numbered(n int) (clients []string) {
	for i := range n {
		clients = append(clients, fmt.Sprint(i))
	}
	return clients
}

func TestRequestsThatWaitShareAStatement(t *testing.T) {
	t.Parallel()
	for err, row := range map[error]struct {
		requests int
		lengths  []int
	}{
		nil:                             {6, []int{1, 1, 4}},
		errors.New("the same for each"): {200, []int{1, 1, maxBatch, 200 - 2 - maxBatch}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{err: err}
			b := &batcher{run: s.run}
			require.Equal(t, slices.Repeat([]error{err}, row.requests), ask(t.Context(), b, numbered(row.requests)...)())
			var lengths []int
			for _, clients := range s.batches {
				lengths = append(lengths, len(clients))
			}
			// Two statements run at a time, so that the last two begin in either order.
			require.ElementsMatch(t, row.lengths, lengths)
			require.Zero(t, b.running)
		})
	}
}

func TestAStatementThatIsHeldUpHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{held: map[string]chan struct{}{"0": make(chan struct{})}}
		b := &batcher{run: s.run}
		held, others := ask(t.Context(), b, "0"), ask(t.Context(), b, "1", "2", "3")
		require.Equal(t, make([]error, 3), others())
		require.Equal(t, [][]string{{"0"}, {"1"}, {"2", "3"}}, s.batches)
		close(s.held["0"])
		require.Equal(t, make([]error, 1), held())
	})
}

func TestWhoLeavesWaitsNoLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		b := &batcher{run: (&slow{held: map[string]chan struct{}{"0": let, "1": let}}).run}
		stay := ask(t.Context(), b, "0", "1")
		cause := errors.New("left")
		ctx, leave := context.WithCancelCause(t.Context())
		left := ask(ctx, b, "2", "3")
		leave(cause)
		require.Equal(t, []error{cause, cause}, left())
		close(let)
		require.Equal(t, make([]error, 2), stay())
		time.Sleep(time.Second)
		synctest.Wait()
		require.Zero(t, b.running)
	})
}
