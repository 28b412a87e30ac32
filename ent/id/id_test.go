package id_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"go.storefront.example/ent/id"
)

func TestAnIDTellsItsTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 1<<48-2).Draw(t, "ms")).UTC()
		made := id.At(at)
		require.Equal(t, at, id.Time(made))
		require.EqualValues(t, 7, made.Version())
		require.Equal(t, uuid.RFC4122, made.Variant())
		require.Negative(t, bytes.Compare(floor(at), made[:]), "an id is above the floor of its time")
		require.Positive(t, bytes.Compare(floor(at.Add(time.Millisecond)), made[:]), "and below the next one's")
	})
	require.Equal(t, time.Unix(0, 0).UTC(), id.Time(id.At(time.Unix(-5, 0))))
}

func floor(at time.Time) []byte {
	f := id.Floor(at)
	return f[:]
}

func TestIDsOfOneMillisecondDifferAndKeepTheirOrder(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_800_000_000_000)
	seen := map[uuid.UUID]bool{}
	last := id.Floor(at)
	for range 20_000 {
		made := id.At(at)
		require.Negative(t, bytes.Compare(last[:], made[:]))
		seen[made] = true
		last = made
	}
	require.Len(t, seen, 20_000)
}
