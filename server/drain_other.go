//go:build !linux && !darwin

package server

import "net"

// acceptPending is not implemented on this system.
func acceptPending(net.Listener) []net.Conn { return nil }
