package auth

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestCountersContinueWhatIsStored(t *testing.T) {
	t.Parallel()
	var c counters
	key := uuid.New()
	require.Equal(t, 4, c.add(key, 10, 3))
	require.Equal(t, 5, c.add(key, 10, 3), "what is stored counts once")
	require.Equal(t, 6, c.add(key, 10, 5), "also after it was written")
	require.Equal(t, 1, c.add(key, 11, 0), "a new minute")
	require.Equal(t, 1, c.add(uuid.New(), 10, 99), "a request that was overtaken does not bring the past minute's count")
	require.Equal(t, 2, c.add(key, 10, 99))
	require.Equal(t, 8, c.add(key, 5, 7), "the clock was set back")
}

func TestCountersAreWrittenOnce(t *testing.T) {
	t.Parallel()
	var c counters
	key, other := uuid.New(), uuid.New()
	c.add(key, 10, 0)
	c.add(key, 10, 0)
	minute, list := c.take()
	require.EqualValues(t, 10, minute)
	require.Equal(t, []counted{{key, 2}}, list)
	_, again := c.take()
	require.Empty(t, again)

	c.add(other, 10, 0)
	c.keep(minute, list)
	c.add(key, 10, 0)
	_, again = c.take()
	require.Equal(t, []counted{{other, 1}, {key, 3}}, again, "what could not be written, as it is now")

	c.add(other, 11, 0)
	c.keep(minute, list)
	_, again = c.take()
	require.Equal(t, []counted{{other, 1}}, again, "the past minute is not written any more")
}

func TestCountersAtOnce(t *testing.T) {
	t.Parallel()
	var (
		c    counters
		seen sync.Map
		all  sync.WaitGroup
	)
	key := uuid.New()
	for range 8 {
		all.Go(func() {
			for i := range 100 {
				if _, twice := seen.LoadOrStore(c.add(key, 10, 0), true); twice {
					t.Error("two requests got one count")
				}
				if i%10 == 0 {
					c.keep(c.take())
				}
			}
		})
	}
	all.Wait()
	_, list := c.take()
	require.Equal(t, []counted{{key, 800}}, list)
}
