package db

import (
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// boundUnanswered bounds how long the system repeats what the server does not acknowledge. While
// anything is unacknowledged it sends no keep-alive probe, and would repeat for a quarter of an hour.
func boundUnanswered(network, _ string, raw syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := raw.Control(func(socket uintptr) {
		const bound = aliveIdle + aliveCount*aliveInterval
		failed = unix.SetsockoptInt(int(socket), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(bound/time.Millisecond))
	})
	if err != nil {
		return err
	}
	return failed
}
