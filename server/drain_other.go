//go:build !linux && !darwin

package server

import "net"

// acceptPending is not known here.
func acceptPending(net.Listener) []net.Conn { return nil }
