package limit_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/limit"
)

// listen returns a listener on loopback for at most all connections, and those that it has accepted. With proxy, clients on
// loopback are a proxy.
func listen(t *testing.T, all int, proxy bool) (l *limit.Listener, accepted chan net.Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l, accepted = limit.NewListener(inner, all, func(a netip.Addr) bool { return proxy && a.IsLoopback() }), make(chan net.Conn, 10)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	return l, accepted
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	return c
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	for reason, row := range map[string]struct {
		proxy bool
		want  int
	}{
		"one client has half of all":              {false, 2},
		"a proxy's connections are those of many": {true, 4},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			l, accepted := listen(t, 4, row.proxy)
			var open []net.Conn
			for range row.want {
				dial(t, l)
				open = append(open, <-accepted)
			}
			_, err := dial(t, l).Read(make([]byte, 1))
			require.Error(t, err, "it is closed at once")
			require.False(t, isTimeout(err))
			require.NoError(t, open[0].Close())
			_ = open[0].Close() // closing twice counts once
			c := dial(t, l)
			open[0] = <-accepted
			n, refused := l.Connections()
			require.Equal(t, row.want, n)
			require.EqualValues(t, 1, refused)

			require.NoError(t, open[0].(interface{ CloseWrite() error }).CloseWrite())
			_, err = c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
		})
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
