package auth

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbered is the i-th of many addresses.
func numbered(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(i))
	return netip.AddrFrom4(b)
}

func TestAddressesAreBounded(t *testing.T) {
	t.Parallel()
	var a addresses
	for i := range maxAddresses {
		_, counted := a.count(numbered(i), 7)
		require.True(t, counted)
	}
	_, counted := a.count(numbered(maxAddresses), 7)
	require.False(t, counted, "one too many")
	a.learn(numbered(maxAddresses), 7, 21)
	require.False(t, a.blocked(numbered(maxAddresses), 7), "nor is one learned: the database says it again")
	count, counted := a.count(numbered(0), 7)
	require.True(t, counted, "those held go on")
	require.Equal(t, 2, count)
	_, counted = a.count(numbered(maxAddresses), 8)
	require.True(t, counted, "a new minute has room")
	require.Len(t, a.tallies, 1)
}

func TestAddressesTurn(t *testing.T) {
	t.Parallel()
	home := numbered(1)
	for _, row := range []struct {
		reason string
		minute int64
		held   bool
	}{
		{"the same minute", 100, true},
		{"the next minute forgets", 101, false},
		{"the minute before is an answer overtaken by the turn", 99, true},
		{"further back is a clock that was set back", 98, false},
	} {
		var a addresses
		a.learn(home, 100, 21)
		require.Equal(t, row.held, a.blocked(home, row.minute), row.reason)
	}

	var a addresses
	require.False(t, a.blocked(home, 100))
	a.learn(home, 99, 21)
	require.False(t, a.blocked(home, 100), "what was counted in the past minute does not block in this one")
	a.learn(home, 100, 20)
	a.learn(home, 100, 19)
	count, _ := a.count(home, 100)
	require.Equal(t, 21, count, "an answer that was overtaken does not count down")
}

func TestAddressesSettle(t *testing.T) {
	t.Parallel()
	var a addresses
	sent, lost := numbered(1), numbered(2)
	for range 3 {
		a.count(sent, 5)
		a.count(lost, 5)
	}
	deltas := a.take(5)
	require.Len(t, deltas, 2)
	require.Empty(t, a.take(5), "nothing is sent twice")
	count, _ := a.count(sent, 5)
	require.Equal(t, 4, count, "what is on its way is not forgotten")

	a.settle(deltas, map[string]int{sent.String(): 10})
	count, _ = a.count(sent, 5)
	require.Equal(t, 12, count, "ten stored, two counted since")
	count, _ = a.count(lost, 5)
	require.Equal(t, 4, count)
	require.Equal(t, map[string]int{sent.String(): 2, lost.String(): 4}, byAddress(a.take(5)), "what was not sent is pending again")

	a.count(sent, 6)
	a.settle(deltas, nil)
	require.Equal(t, map[string]int{sent.String(): 1}, byAddress(a.take(6)), "a past minute's counts are not taken into this one")
}

func byAddress(deltas []delta) map[string]int {
	counts := map[string]int{}
	for _, d := range deltas {
		counts[d.Address] = d.Count
	}
	return counts
}
