package auth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/server/ratelimit"
)

// slowAsker answers each statement after a second, or when it is let go.
type slowAsker struct {
	fakeAsker
	batches [][]string // the clients of each statement
	err     error
	hold    chan struct{} // non-nil: the first statement waits for it
}

func (a *slowAsker) ask(ctx context.Context, q question) (finding, error) {
	found, err := a.askAll(ctx, []question{q})
	if err != nil {
		return finding{}, err
	}
	return found[0], nil
}

func (a *slowAsker) askAll(_ context.Context, questions []question) ([]finding, error) {
	clients := make([]string, len(questions))
	found := make([]finding, len(questions))
	for i, q := range questions {
		clients[i] = q.client
		found[i].unknown = int(q.fingerprint[0])
	}
	a.mu.Lock()
	first := len(a.batches) == 0
	a.batches = append(a.batches, clients)
	a.mu.Unlock()
	if first && a.hold != nil {
		<-a.hold
	} else {
		time.Sleep(time.Second)
	}
	return found, a.err
}

// asks sends n questions one after the other, each from a client of its own, and returns their errors.
func asks(ctx context.Context, t *testing.T, b *batches, n int) func() []error {
	errs := make([]error, n)
	for i := range n {
		go func() {
			found, err := b.ask(ctx, question{fingerprint: [32]byte{byte(i)}, client: fmt.Sprint(i)})
			if err == nil && found.unknown != i {
				err = fmt.Errorf("question %d got the answer of %d", i, found.unknown)
			}
			errs[i] = err
		}()
		synctest.Wait()
	}
	return func() []error {
		time.Sleep(time.Minute)
		synctest.Wait()
		return errs
	}
}

func TestRequestsThatWaitShareAStatement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowAsker{}
		errs := asks(t.Context(), t, &batches{asker: a, most: 1}, 5)()
		require.Equal(t, make([]error, 5), errs)
		require.Equal(t, [][]string{{"0"}, {"1", "2", "3", "4"}}, a.batches)
	})
}

func TestABatchIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowAsker{}
		require.Equal(t, make([]error, 200), asks(t.Context(), t, &batches{asker: a, most: 1}, 200)())
		lengths := []int{}
		for _, batch := range a.batches {
			lengths = append(lengths, len(batch))
		}
		require.Equal(t, []int{1, maxBatch, 200 - 1 - maxBatch}, lengths)
	})
}

func TestAStatementThatIsHeldUpHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowAsker{hold: make(chan struct{})}
		wait := asks(t.Context(), t, &batches{asker: a, most: 2}, 3)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, [][]string{{"0"}, {"1"}, {"2"}}, a.batches)
		close(a.hold)
		require.Equal(t, make([]error, 3), wait())
	})
}

func TestAnErrorIsThatOfAllWhoShareTheStatement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("away")
		require.Equal(t, []error{away, away, away}, asks(t.Context(), t, &batches{asker: &slowAsker{err: away}, most: 1}, 3)())
	})
}

func TestWhoLeavesWhileWaitingIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowAsker{hold: make(chan struct{})}
		b := &batches{asker: a, most: 1}
		first := asks(t.Context(), t, b, 1)
		cause := errors.New("left")
		ctx, leave := context.WithCancelCause(t.Context())
		gone := asks(ctx, t, b, 2)
		leave(cause)
		require.Equal(t, []error{cause, cause}, gone())
		close(a.hold)
		require.Equal(t, []error{nil}, first())
		require.Equal(t, [][]string{{"0"}}, a.batches)
		require.Zero(t, b.underWay)
	})
}

// One database answers random questions one by one, another the same ones in batches.
func TestABatchIsAnsweredAsOneByOne(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 9, 1, 12, 0, 15, 0, time.UTC)
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores := [2]*db.DB{dbtest.New(t, name, db.Config{}), dbtest.New(t, name, db.Config{})}
			shop := tenant.Store{ID: uuid.Must(uuid.NewV7())}
			var questions []question // what may be asked
			for i := range 3 {
				text, key := NewKey(), uuid.Must(uuid.NewV7())
				fingerprint := Fingerprint(text)
				for _, s := range stores {
					ctx := tenant.With(t.Context(), shop, tenant.Actor{Type: tenant.ActorOperator})
					require.NoError(t, s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
						if i == 0 {
							err := tx.Store.Create().SetID(shop.ID).SetName("Kiosk").SetSlug("kiosk").SetURL("https://example.com").
								SetCurrency("XAF").SetCountry("CM").SetCreatedAt(noon).SetUpdatedAt(noon).Exec(ctx)
							if err != nil {
								return err
							}
						}
						return tx.ApiKey.Create().SetID(key).SetStoreID(shop.ID).SetName("Till").SetFingerprint(fingerprint[:]).
							SetHint(Hint(text)).SetScopes(Scopes()).SetCreatedAt(noon).Exec(ctx)
					}))
				}
				// The last client is beyond its limit before it first uses a key.
				for _, client := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.9"} {
					questions = append(questions, question{fingerprint: fingerprint, client: client, now: &noon})
				}
			}
			for i := range 3 {
				for _, client := range []string{"10.0.1.1", "10.0.1.2", "10.0.0.9"} {
					questions = append(questions, question{fingerprint: [32]byte{byte(i)}, malformed: i == 0, client: client, now: &noon})
				}
			}
			one, all := newAsker(stores[0]), newAsker(stores[1])
			for range ratelimit.UnknownKeysPerMinute + 1 {
				for _, a := range []asker{one, all} {
					_, err := a.ask(t.Context(), question{malformed: true, client: "10.0.0.9", now: &noon})
					require.NoError(t, err)
				}
			}
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 0))
			for range 40 {
				batch := make([]question, 1+random.IntN(20))
				for i := range batch {
					batch[i] = questions[random.IntN(len(questions))]
				}
				want := make([]finding, len(batch))
				for i, q := range batch {
					var err error
					want[i], err = one.ask(t.Context(), q)
					require.NoError(t, err)
				}
				got, err := all.askAll(t.Context(), slices.Clone(batch))
				require.NoError(t, err)
				require.Equal(t, want, got, "seed %d", seed)
			}
		})
	}
}
