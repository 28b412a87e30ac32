//go:build linux || darwin

package crowd

import "golang.org/x/sys/unix"

// Places returns how many connections may be open: those wanted, but at most half of the files that
// the process may have open, so that the database always gets its own.
func Places(wanted int) int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return wanted
	}
	return min(wanted, int(min(limit.Cur/2, 1<<30)))
}
