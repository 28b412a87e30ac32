//go:build !linux

package db

import "syscall"

// setUserTimeout does nothing: this system decides how long it resends data.
func setUserTimeout(_, _ string, _ syscall.RawConn) error { return nil }
