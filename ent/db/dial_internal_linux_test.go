package db

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The request fails after the same time as an idle connection.
func TestWhatIsNotAcknowledgedEnds(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", filepath.Join(t.TempDir(), "s")} {
		network := "tcp"
		if filepath.IsAbs(address) {
			network = "unix"
		}
		server, err := net.Listen(network, address)
		require.NoError(t, err)
		conn, err := newDialer().DialTimeout(network, server.Addr().String(), time.Minute)
		require.NoError(t, err, network)
		if tcp, ok := conn.(*net.TCPConn); ok {
			raw, err := tcp.SyscallConn()
			require.NoError(t, err)
			bound := 0
			require.NoError(t, raw.Control(func(socket uintptr) {
				bound, err = unix.GetsockoptInt(int(socket), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
			}))
			require.NoError(t, err)
			require.Equal(t, (keepAliveIdle + keepAliveCount*keepAliveInterval).Milliseconds(), int64(bound))
		}
		require.NoError(t, conn.Close())
		require.NoError(t, server.Close())
	}
}
