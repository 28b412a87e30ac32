//go:build unix

package db

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks the file for this descriptor until it is closed, and reports whether another
// process holds the lock.
func lockFile(f *os.File) (held bool, err error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return true, nil
		default:
			return false, err
		}
	}
}
