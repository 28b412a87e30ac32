package auth

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestCountersContinueWhatIsStored(t *testing.T) {
	t.Parallel()
	var c counters
	key, other := uuid.New(), uuid.New()
	require.Equal(t, 4, c.add(key, 10, 3))
	require.Equal(t, 5, c.add(key, 10, 3), "what is stored counts once")
	require.Equal(t, 6, c.add(key, 10, 5), "also after it was written")
	require.Equal(t, 1, c.add(key, 11, 0), "a new minute")
	require.Equal(t, 1, c.add(other, 10, 99), "a request that was overtaken does not bring the past minute's count")
	require.Equal(t, 2, c.add(key, 10, 99))
	minute, counts := c.unwritten()
	require.EqualValues(t, 11, minute)
	require.Equal(t, map[uuid.UUID]int64{key: 2, other: 1}, counts)
	_, counts = c.unwritten()
	require.Nil(t, counts, "what is written is not written again")
	c.markUnwritten()
	_, counts = c.unwritten()
	require.Len(t, counts, 2, "what could not be written is")
	require.Equal(t, 8, c.add(key, 5, 7), "the clock was set back")
}
