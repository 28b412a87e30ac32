package limit_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/limit"
)

func TestOpenCallsAreBoundedPerConnectionPerClientAndInAll(t *testing.T) {
	t.Parallel()
	var open limit.OpenCalls
	client := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}) }
	// fill opens calls on new connections of a client until one is refused.
	connections := 0
	fill := func(address netip.Addr, perConnection int) (leave []func()) {
		for {
			connections++
			for range perConnection {
				done, err := open.Enter(address, fmt.Sprint(connections))
				if err != nil {
					require.ErrorIs(t, err, limit.ErrBusy)
					return leave
				}
				leave = append(leave, done)
			}
		}
	}
	one := fill(client(1), 100)
	require.Len(t, one, 8, "on one connection")
	more := fill(client(1), 1)
	require.Len(t, more, 56, "of one client")
	require.Len(t, fill(client(2), 1), 64)
	require.Len(t, fill(client(3), 1), 64)
	require.Len(t, fill(client(4), 1), 64)
	require.Empty(t, fill(client(5), 1), "in all")
	for _, leave := range append(one, more...) {
		leave()
	}
	require.Len(t, fill(client(5), 1), 64)
}
