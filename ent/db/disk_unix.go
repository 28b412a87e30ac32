//go:build linux || darwin

package db

import "syscall"

// FreeBytes returns how many bytes an unprivileged user can still write in a folder.
func FreeBytes(folder string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
