//go:build linux || darwin

package server

import (
	"net"
	"os"
	"syscall"
)

// acceptPending accepts the pending connections of a listener, without waiting for more.
func acceptPending(l net.Listener) []net.Conn {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	var accepted []int
	_ = raw.Control(func(fd uintptr) {
		for { // the listener does not block
			syscall.ForkLock.RLock()
			socket, _, err := syscall.Accept(int(fd))
			if err == nil {
				syscall.CloseOnExec(socket)
			}
			syscall.ForkLock.RUnlock()
			switch err {
			case nil:
				accepted = append(accepted, socket)
			case syscall.EINTR, syscall.ECONNABORTED:
			default:
				return
			}
		}
	})
	var conns []net.Conn
	for _, socket := range accepted {
		file := os.NewFile(uintptr(socket), "")
		if c, err := net.FileConn(file); err == nil { // of a copy of the socket
			conns = append(conns, c)
		}
		_ = file.Close()
	}
	return conns
}
