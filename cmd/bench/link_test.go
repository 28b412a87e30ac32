package main

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNothingPassesALinkThatIsCut(t *testing.T) {
	t.Parallel()
	target, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = target.Close() }()
	wire, err := newLink(target.Addr().(*net.TCPAddr).Port)
	require.NoError(t, err)
	near, err := net.Dial("tcp", wire.address())
	require.NoError(t, err)
	defer func() { _ = near.Close() }()
	far, err := target.Accept()
	require.NoError(t, err)
	defer func() { _ = far.Close() }()

	wire.cut()
	_, err = near.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, far.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	got := make([]byte, 1)
	_, err = far.Read(got)
	require.ErrorContains(t, err, "timeout")
	wire.join()
	require.NoError(t, far.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = far.Read(got)
	require.NoError(t, err, "it is late, and not lost")
	require.NoError(t, wire.close())
	_, err = near.Read(got)
	require.Error(t, err)
}

func TestALinkLeadsNewConnectionsElsewhere(t *testing.T) {
	t.Parallel()
	var targets []net.Listener
	for range 2 {
		target, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = target.Close() }()
		targets = append(targets, target)
	}
	wire, err := newLink(targets[0].Addr().(*net.TCPAddr).Port)
	require.NoError(t, err)
	for n, target := range targets {
		wire.setTarget(target.Addr().(*net.TCPAddr).Port)
		near, err := net.Dial("tcp", wire.address())
		require.NoError(t, err)
		far, err := target.Accept()
		require.NoError(t, err, n)
		_ = far.Close()
		_ = near.Close()
	}
	require.NoError(t, wire.close())
}

func TestADatabaseIsReachedAtOtherPorts(t *testing.T) {
	t.Parallel()
	one, err := withPorts("postgres://postgres@10.0.0.1:5432/shop?sslmode=disable", 7)
	require.NoError(t, err)
	require.Equal(t, "postgres://postgres@127.0.0.1:7/shop?sslmode=disable", one)
	both, err := withPorts(one, 7, 8)
	require.NoError(t, err)
	require.Equal(t, "postgres://postgres@127.0.0.1:7/shop?host=127.0.0.1%2C127.0.0.1&port=7%2C8&sslmode=disable&"+
		"target_session_attrs=read-write", both)
}
