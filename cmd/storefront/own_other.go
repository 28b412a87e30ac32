//go:build !unix

package main

import "io/fs"

// isOwn reports whether a file belongs to this user, which is not looked at here.
func isOwn(fs.FileInfo) bool { return true }
