package db

import (
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout limits how long the system resends data that the server does not acknowledge: by default a quarter of an hour,
// without the keep-alive probes that would detect the loss.
func setUserTimeout(network, _ string, raw syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := raw.Control(func(socket uintptr) {
		const bound = keepAliveIdle + keepAliveCount*keepAliveInterval
		failed = unix.SetsockoptInt(int(socket), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(bound/time.Millisecond))
	})
	if err != nil {
		return err
	}
	return failed
}
