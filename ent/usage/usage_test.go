package usage_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/usage"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newStore(t *testing.T, d *db.DB) uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	_, err := d.Writer().ExecContext(t.Context(), "INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, "+
		"created_at, updated_at) VALUES ($1, 'S', $2, '', 'XAF', 'CM', '{}', '[]', $3, $3)", id, id.String()[24:], noon)
	require.NoError(t, err)
	return id
}

// Nothing would ever delete rows that a running server counts while the store is deleted.
func TestNothingIsWrittenOfADeletedStore(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		kept, leaving, gone := newStore(t, d), newStore(t, d), uuid.New()
		_, err := d.Writer().ExecContext(t.Context(), "UPDATE stores SET deletion_began_at = $1 WHERE id = $2", noon, leaving)
		require.NoError(t, err)
		l := usage.New(d, slog.Default())
		for _, store := range []uuid.UUID{kept, leaving, gone} {
			l.Count(store, uuid.New(), noon, usage.Day, true, time.Millisecond)
			l.Refuse(usage.Refused{StoreID: store, KeyID: uuid.New(), RequestID: uuid.New(), Method: "GET", Route: "/v1/orders",
				Code: "validation_failed", Status: 400, At: noon})
		}
		require.NoError(t, l.Flush(t.Context()))
		for _, table := range []string{"tallies", "refused_requests"} {
			var all, own int
			require.NoError(t, d.Reader().QueryRowContext(t.Context(), "SELECT count(*), count(CASE WHEN store_id = $1 THEN 1 END) FROM "+table,
				kept).Scan(&all, &own))
			require.Equal(t, []int{1, 1}, []int{all, own}, table)
		}
	})
}

func TestUsesAreCountedAcrossProcesses(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		store, key, other := newStore(t, d), uuid.New(), uuid.New()
		logs := []*usage.Recorder{usage.New(d, slog.Default()), usage.New(d, slog.Default())}
		var all sync.WaitGroup
		for i, l := range logs {
			all.Go(func() {
				for n := range 100 {
					l.Count(store, key, noon.Add(time.Duration(n)*time.Second), usage.Day, n%10 != 0, 3*time.Millisecond)
					l.Count(store, other, noon.Add(time.Duration(i)*time.Hour+time.Minute), usage.Hour, true, time.Second)
					if n%50 == 0 {
						require.NoError(t, l.Flush(t.Context()))
					}
				}
				require.NoError(t, l.Flush(t.Context()))
			})
		}
		all.Wait()
		day := noon.Truncate(24 * time.Hour)
		found, err := usage.Tallies(t.Context(), d, store, []uuid.UUID{key, other}, day)
		require.NoError(t, err)
		require.Equal(t, []usage.Tally{
			{SubjectID: key, BeganAt: day, Succeeded: 180, Failed: 20, Duration: 600 * time.Millisecond},
			{SubjectID: other, BeganAt: noon, Succeeded: 100, Duration: 100 * time.Second},
			{SubjectID: other, BeganAt: noon.Add(time.Hour), Succeeded: 100, Duration: 100 * time.Second},
		}, found)
		found, err = usage.Tallies(t.Context(), d, uuid.New(), []uuid.UUID{key}, day)
		require.NoError(t, err)
		require.Empty(t, found, "another store's")
	})
}

func TestTheNewestRefusedRequestsOfAKeyAreKept(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		store, noisy, quiet := newStore(t, d), uuid.New(), uuid.New()
		l := usage.New(d, slog.Default())
		refused := func(key uuid.UUID, at time.Time) usage.Refused {
			return usage.Refused{
				StoreID: store, KeyID: key, RequestID: uuid.New(), Method: "GET", Route: "/v1/orders", Code: "validation_failed", Status: 400,
				Fields: []string{"pageSize", "q"}, At: at,
			}
		}
		now := d.Now()
		first := refused(quiet, now.Add(-time.Hour))
		l.Refuse(first)
		for i := range usage.MaxRefusedPerKey/20 + 3 {
			for j := range 30 {
				l.Refuse(refused(noisy, now.Add(time.Duration(i*30+j)*time.Millisecond)))
			}
			require.NoError(t, l.Flush(t.Context()))
		}
		require.EqualValues(t, (usage.MaxRefusedPerKey/20+3)*10, l.Dropped(), "20 of a key between two writes")
		kept, err := usage.RefusedOf(t.Context(), d, store, noisy, 1000)
		require.NoError(t, err)
		require.Len(t, kept, usage.MaxRefusedPerKey)
		require.Equal(t, now.Add(time.Duration((usage.MaxRefusedPerKey/20+2)*30+19)*time.Millisecond), kept[0].At.UTC(),
			"newest first")
		kept, err = usage.RefusedOf(t.Context(), d, store, quiet, 10)
		require.NoError(t, err)
		require.Len(t, kept, 1)
		kept[0].At = kept[0].At.UTC()
		require.Equal(t, first, kept[0])
		kept, err = usage.RefusedOf(t.Context(), d, uuid.New(), noisy, 10)
		require.NoError(t, err)
		require.Empty(t, kept, "another store's")
	})
}

func TestCountsSurviveADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	l, store, key := usage.New(d, slog.New(slog.DiscardHandler)), newStore(t, d), uuid.New()
	l.Count(store, key, noon, usage.Day, true, 0)
	l.Refuse(usage.Refused{StoreID: store, KeyID: key, At: noon})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, l.Flush(gone))
	require.EqualValues(t, 1, l.Dropped(), "the refused request")
	l.Count(store, key, noon, usage.Day, true, 0)
	require.NoError(t, l.Flush(t.Context()))
	found, err := usage.Tallies(t.Context(), d, store, []uuid.UUID{key}, noon.Add(-usage.Day))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.EqualValues(t, 2, found[0].Succeeded)
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	l := usage.New(nil, slog.Default())
	for i := range 50010 {
		l.Count(uuid.Nil, uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i)), noon, usage.Day, true, 0)
	}
	require.EqualValues(t, 10, l.Dropped())
	for i := range 5005 {
		l.Refuse(usage.Refused{KeyID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i))})
	}
	require.EqualValues(t, 15, l.Dropped())
}
