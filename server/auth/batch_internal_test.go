package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"go.storefront.example/server/limit"
)

// strange is a key that is not known.
const strange = 250

// slowKeys answers each statement after a second, or when it is let go.
type slowKeys struct {
	fakeKeys
	batches [][]string // the clients of each statement
	err     error
	took    time.Duration // of a statement
	hold    chan struct{} // non-nil: statements wait for it
}

// letGo ends all statements that wait.
func (a *slowKeys) letGo() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.hold)
}

func (a *slowKeys) find(ctx context.Context, q lookup) (result, error) {
	found, err := a.findAll(ctx, []lookup{q})
	if err != nil {
		return result{}, err
	}
	return found[0], nil
}

func (a *slowKeys) findAll(_ context.Context, lookups []lookup) ([]result, error) {
	clients := make([]string, len(lookups))
	found := make([]result, len(lookups))
	for i, q := range lookups {
		clients[i] = q.client
		found[i].count, found[i].known = int(q.fingerprint[0]), q.fingerprint[0] != strange
	}
	a.mu.Lock()
	a.batches = append(a.batches, clients)
	a.mu.Unlock()
	if a.hold != nil {
		<-a.hold
	}
	time.Sleep(a.took)
	return found, a.err
}

// asks sends n look-ups one after the other, each from a client of its own, and returns their errors.
func asks(ctx context.Context, t *testing.T, b *batches, n int) func() []error {
	errs := make([]error, n)
	for i := range n {
		go func() {
			found, err := b.find(ctx, lookup{fingerprint: [32]byte{byte(i)}, client: fmt.Sprint(i)})
			if err == nil && found.count != i {
				err = fmt.Errorf("question %d got the answer of %d", i, found.count)
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

// shared are batches of a slow keyStore.
func shared(a *slowKeys, most int) *batches { return &batches{alone: a, all: a.findAll, most: most} }

func TestRequestsThatWaitShareAStatement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowKeys{took: time.Millisecond}
		errs := asks(t.Context(), t, shared(a, 10), 6)()
		require.Equal(t, make([]error, 6), errs)
		require.Equal(t, [][]string{{"0"}, {"1", "2", "3", "4", "5"}}, a.batches)
	})
}

func TestABatchIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowKeys{took: time.Millisecond}
		require.Equal(t, make([]error, 200), asks(t.Context(), t, shared(a, 10), 200)())
		lengths := []int{}
		for _, batch := range a.batches {
			lengths = append(lengths, len(batch))
		}
		require.Equal(t, []int{1, maxBatch, 200 - 1 - maxBatch}, lengths)
	})
}

// A statement that takes long keeps nobody waiting, as long as there are connections.
func TestAStatementThatIsHeldUpHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowKeys{took: time.Millisecond, hold: make(chan struct{})}
		b := shared(a, 4)
		held := asks(t.Context(), t, b, 3)
		quick := asks(t.Context(), t, b, 3)
		time.Sleep(maxWait)
		synctest.Wait()
		require.Equal(t, [][]string{{"0"}, {"1", "2", "0", "1", "2"}}, a.batches, "the second is held up too")
		time.Sleep(maxWait)
		a.letGo()
		require.Equal(t, make([]error, 3), quick())
		require.Equal(t, make([]error, 3), held())
		require.Zero(t, b.underWay)
		require.False(t, b.busy)
	})
}

func TestNoMoreStatementsThanConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowKeys{hold: make(chan struct{})}
		b := shared(a, 3)
		var waits []func() []error
		for range 5 {
			waits = append(waits, asks(t.Context(), t, b, 1))
			time.Sleep(2 * maxWait)
		}
		synctest.Wait()
		require.Len(t, a.batches, 3)
		a.letGo()
		for _, wait := range waits {
			require.Equal(t, make([]error, 1), wait())
		}
		require.Len(t, a.batches, 4)
	})
}

func TestAnUnknownKeyIsAskedAloneAfterTheBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowKeys{took: time.Millisecond}
		b := shared(a, 10)
		wait := asks(t.Context(), t, b, 3)
		go func() { _, _ = b.find(t.Context(), lookup{fingerprint: [32]byte{strange}, client: "stranger"}) }()
		synctest.Wait()
		go func() { _, _ = b.find(t.Context(), lookup{malformed: true, client: "malformed"}) }()
		synctest.Wait()
		require.Equal(t, make([]error, 3), wait())
		require.Equal(t, [][]string{{"0"}, {"malformed"}, {"1", "2", "stranger"}, {"stranger"}}, a.batches)
	})
}

func TestWhoSharesAStatementThatFailsIsAskedAlone(t *testing.T) {
	t.Parallel()
	for err, want := range map[error][][]string{
		io.ErrUnexpectedEOF:          {{"0"}, {"1", "2"}}, // the database is away
		errors.New("wrong with one"): {{"0"}, {"1", "2"}, {"1"}, {"2"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &slowKeys{err: err, took: time.Millisecond}
			require.Equal(t, []error{err, err, err}, asks(t.Context(), t, shared(a, 1), 3)())
			slices.SortFunc(a.batches[2:], slices.Compare)
			require.Equal(t, want, a.batches)
		})
	}
}

func TestWhoLeavesWhileWaitingIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &slowKeys{hold: make(chan struct{})}
		b := shared(a, 1)
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

// One database answers random look-ups one by one, another the same ones in batches, but for those about unknown keys.
func TestABatchIsAnsweredAsOneByOne(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 9, 1, 12, 0, 15, 0, time.UTC)
	stores := [2]*db.DB{dbtest.New(t, dbtest.Postgres, db.Config{}), dbtest.New(t, dbtest.Postgres, db.Config{})}
	shop := tenant.Store{ID: uuid.Must(uuid.NewV7())}
	var lookups []lookup // what may be asked
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
			lookups = append(lookups, lookup{fingerprint: fingerprint, client: client, now: &noon})
		}
	}
	for i := range 3 {
		for _, client := range []string{"10.0.1.1", "10.0.1.2", "10.0.0.9"} {
			lookups = append(lookups, lookup{fingerprint: [32]byte{byte(i)}, client: client, now: &noon})
		}
	}
	one, all := newPostgresKeys(stores[0]), newPostgresKeys(stores[1])
	for range limit.UnknownKeysPerMinute + 1 {
		for _, a := range []postgresKeys{one, all} {
			_, err := a.find(t.Context(), lookup{malformed: true, client: "10.0.0.9", now: &noon})
			require.NoError(t, err)
		}
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 40 {
		batch := make([]lookup, 1+random.IntN(20))
		for i := range batch {
			batch[i] = lookups[random.IntN(len(lookups))]
		}
		want := make([]result, len(batch))
		for i, q := range batch {
			var err error
			want[i], err = one.find(t.Context(), q)
			require.NoError(t, err)
		}
		got, err := all.findAll(t.Context(), slices.Clone(batch))
		require.NoError(t, err)
		for i, q := range batch {
			if !got[i].known {
				require.Equal(t, result{}, got[i])
				got[i], err = all.find(t.Context(), q)
				require.NoError(t, err)
			}
		}
		require.Equal(t, want, got, "seed %d", seed)
	}
}
