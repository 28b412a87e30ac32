package auth

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/limit"
)

// numbered is the i-th of many clients.
func numbered(i int) limit.Client {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(i))
	return limit.ClientOf(netip.AddrFrom4(b))
}

func TestBlockedClientsAreBounded(t *testing.T) {
	t.Parallel()
	var b blocked
	for i := range maxClients + 1 {
		b.add(numbered(i), 7)
	}
	require.True(t, b.has(numbered(0), 7))
	require.Len(t, b.clients, maxClients)
	require.False(t, b.has(numbered(maxClients), 7), "one too many: the database answers for it")
	b.add(numbered(maxClients), 8)
	require.True(t, b.has(numbered(maxClients), 8), "a new minute has room")
	require.Len(t, b.clients, 1)
}

func TestBlockedClientsTurn(t *testing.T) {
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
		t.Run(row.reason, func(t *testing.T) {
			var b blocked
			b.add(home, 100)
			require.Equal(t, row.held, b.has(home, row.minute))
		})
	}

	var b blocked
	require.False(t, b.has(home, 100))
	b.add(home, 99)
	require.False(t, b.has(home, 100), "what was counted in the past minute does not block in this one")
}
