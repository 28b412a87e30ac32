package auth_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
)

func TestFlushWritesLastUse(t *testing.T) {
	each(t, func(f *fixture) {
		used, idle, expired := f.newKey("Used", time.Time{}), f.newKey("Idle", time.Time{}), f.newKey("Expired", noon)
		other := f.another()

		require.Empty(f, f.code(f.gate, used.header(), home))
		f.watch.set(noon.Add(1234 * time.Millisecond))
		require.Empty(f, f.code(f.gate, used.header(), home))
		f.watch.set(noon.Add(time.Second))
		require.Empty(f, f.code(f.gate, used.header(), home), "an answer that was overtaken does not take it back")
		f.watch.set(noon.Add(1234 * time.Millisecond))
		require.Equal(f, apierr.APIKeyExpired, f.code(f.gate, expired.header(), home))
		require.Nil(f, f.lastUse(used), "no write for each request")

		before := f.trips.Load()
		require.NoError(f, f.gate.Flush(f.Context()))
		want := int64(2)
		if f.db.Dialect() == dialect.SQLite {
			want++ // on SQLite, a further statement writes the counters, which are in memory
		}
		require.Equal(f, want, f.trips.Load()-before, "one statement for all keys, one to sweep")
		require.Equal(f, noon.Add(1234*time.Millisecond), f.lastUse(used).UTC())
		require.Nil(f, f.lastUse(idle))
		require.Nil(f, f.lastUse(expired), "a key that is refused is not in use")

		before = f.trips.Load()
		require.NoError(f, f.gate.Flush(f.Context()))
		require.Equal(f, before, f.trips.Load(), "nothing new, nothing written")

		f.watch.set(noon)
		require.Empty(f, f.code(other, used.header(), home))
		require.NoError(f, other.Flush(f.Context()))
		require.Equal(f, noon.Add(1234*time.Millisecond), f.lastUse(used).UTC(), "it only moves forward")
	})
}

func TestLastUseOfALimitedKeyIsWritten(t *testing.T) {
	each(t, func(f *fixture) {
		k := f.newKey("Till", time.Time{})
		f.setStatus("suspended")
		require.Equal(f, apierr.StoreUnavailable, f.code(f.gate, k.header(), home))
		require.NoError(f, f.gate.Flush(f.Context()))
		require.Equal(f, noon, f.lastUse(k).UTC(), "the owner must see that some tool still uses the key")
	})
}

func TestFlushKeepsWhatItCannotWrite(t *testing.T) {
	each(t, func(f *fixture) {
		k := f.newKey("Till", time.Time{})
		require.Empty(f, f.code(f.gate, k.header(), home))
		ended, end := context.WithCancel(f.Context())
		end()
		err := f.gate.Flush(ended)
		require.ErrorIs(f, err, context.Canceled)
		require.ErrorContains(f, err, "write last use of keys")

		require.NoError(f, f.gate.Flush(f.Context()))
		require.Equal(f, noon, f.lastUse(k).UTC())
	})
}

func TestFlushRemovesPastAddressCounters(t *testing.T) {
	each(t, func(f *fixture) {
		count := func() int { return dbtest.Count(f, f.db, "address_counters") }
		require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, unknown(), home))
		require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, malformed(), otherAddress))
		require.NoError(f, f.gate.Flush(f.Context()))
		require.Equal(f, 2, count(), "those of the minute stay")
		f.watch.set(noon.Add(time.Minute))
		require.NoError(f, f.gate.Flush(f.Context()))
		require.Equal(f, 2, count(), "and those of the minute before: another server may be there still")
		f.watch.set(noon.Add(2 * time.Minute))
		require.NoError(f, f.gate.Flush(f.Context()))
		require.Zero(f, count())
	})
}

// A minute later the client may try again.
func TestFlushAfterTheMinute(t *testing.T) {
	each(t, func(f *fixture) {
		for range 20 {
			require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, malformed(), home))
		}
		f.watch.set(noon.Add(time.Minute))
		require.NoError(f, f.gate.Flush(f.Context()))
		require.Equal(f, apierr.APIKeyInvalid, f.code(f.gate, unknown(), home))
	})
}

func TestRunFlushesAtTheEnd(t *testing.T) {
	each(t, func(f *fixture) {
		k := f.newKey("Till", time.Time{})
		ctx, end := context.WithCancel(f.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.gate.Run(ctx) }()
		require.Empty(f, f.code(f.gate, k.header(), home))
		end()
		require.NoError(f, <-ended)
		require.Equal(f, noon, f.lastUse(k).UTC())
	})
}

func TestRunFlushesNowAndThen(t *testing.T) {
	each(t, func(f *fixture) {
		var log dbtest.Log
		d := f.open()
		gate := auth.NewGate(d, auth.Options{Clock: f.watch.now, Log: slog.New(slog.NewTextHandler(&log, nil))})
		gate.FlushEvery(10 * time.Millisecond)
		k := f.newKey("Till", time.Time{})
		ctx, end := context.WithCancel(f.Context())
		ended := make(chan error, 1)
		go func() { ended <- gate.Run(ctx) }()
		require.Empty(f, f.code(gate, k.header(), home))
		require.Eventually(f, func() bool { return f.lastUse(k) != nil }, time.Minute, 5*time.Millisecond)

		require.Empty(f, log.String())
		require.NoError(f, d.Close())
		f.watch.set(noon.Add(time.Hour))
		require.Eventually(f, func() bool { return log.String() != "" }, time.Minute, 5*time.Millisecond, "the error is logged")
		end()
		require.ErrorContains(f, <-ended, "remove the counters", "the last error is returned")
	})
}
