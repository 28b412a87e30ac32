//go:build !linux

package db

import "syscall"

// setUserTimeout does nothing: this system decides how long it repeats data that the server does not acknowledge.
func setUserTimeout(_, _ string, _ syscall.RawConn) error { return nil }
