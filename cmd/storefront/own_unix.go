//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

func isOwn(file fs.FileInfo) bool {
	stat, ok := file.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
