//go:build linux || darwin

package db

import (
	"os"
	"syscall"
)

// FreeBytes returns how many bytes an unprivileged user can still write in a folder.
func FreeBytes(folder string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// linksOf returns how many names a file has, and 1 for a folder.
func linksOf(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if info.IsDir() {
		return 1, nil
	}
	return uint64(info.Sys().(*syscall.Stat_t).Nlink), nil //nolint:unconvert // Its type differs between systems.
}
