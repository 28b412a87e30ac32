package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"go.storefront.example/ent/db"
)

const (
	// tightBytes is how much room a disk must have left for a database to go on growing.
	tightBytes = 64 << 20
	// lowBytes is how much it should have; or as much as the database has, which a backup beside it
	// needs.
	lowBytes = 1 << 30
)

// Files looks at the files of a SQLite database: who can read it and its key, and how much room
// its disk has left.
func Files(database, key string) []Finding {
	found := []Finding{mode("database-file", database), space(database, db.FreeBytes)}
	if _, err := os.Stat(key); err == nil {
		found = append(found, mode("key-file", key))
	}
	return found
}

// mode looks at who can read a file; on Windows that is not in its mode.
func mode(check, path string) Finding {
	info, err := os.Stat(path)
	if err != nil {
		return fail(check, "make the file readable for this user", "%v", err)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 && runtime.GOOS != "windows" {
		return warn(check, "chmod 600 "+quoted(path), "%s has mode %#o: other users of this machine can use it", path,
			info.Mode().Perm())
	}
	return ok(check, "%s", path)
}

// quoted is a path as a shell takes it.
func quoted(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return strings.ContainsRune(" '\"$&;()<>|*?`\\\t\n", r) }) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// space looks at how much room is left where the database grows.
func space(path string, free func(folder string) (uint64, error)) Finding {
	const check = "disk"
	const remedy = "make room on that disk, or move the database to a larger one"
	info, err := os.Stat(path)
	if err != nil {
		return fail(check, "make the file readable for this user", "%v", err)
	}
	folder := filepath.Dir(path)
	left, err := free(folder)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return ok(check, "not looked at on this system")
	case err != nil:
		return warn(check, "see whether the folder's disk is mounted and readable", "the room left in %s is not known: %v", folder, err)
	case left < tightBytes:
		return fail(check, remedy, "%d MiB left in %s: writes will fail soon", left>>20, folder)
	case left < max(lowBytes, uint64(info.Size())):
		return warn(check, remedy, "%d MiB left in %s, for a database of %d MiB: a backup may not fit", left>>20, folder,
			info.Size()>>20)
	}
	return ok(check, "%d MiB left in %s", left>>20, folder)
}
