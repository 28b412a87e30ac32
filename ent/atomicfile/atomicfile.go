// Package atomicfile creates files and folders atomically: a file or folder gets its name only when all its bytes are on disk,
// and never replaces a file. Calls for one path, even of several processes, do not disturb each other:
//
//	.storefront-new-123/lock   locked while the call runs; the system unlocks it when the process dies
//	.storefront-new-123/new    what the call writes ─► path, unless another call was first: fs.ErrExist
//
// Each call first removes the temporary folders that dead processes have left beside its path.
package atomicfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// Create calls fill to write a file, readable only by its owner, under a temporary name, and then renames it to path. fill
// may keep other files beside the temporary name, in a folder that Create removes afterwards. If path exists, or somebody
// else creates it meanwhile, Create leaves it alone and fails with fs.ErrExist. On a file system without hard links, Create
// makes an empty file at path just before the rename; if the process dies in between, the empty file stays.
func Create(path string, fill func(temporary string) error) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return inTemporaryFolder(path, func(temporary string) error {
		empty, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(empty.Close(), fill(temporary), sync(temporary, os.O_RDWR)); err != nil {
			return err
		}
		return renameExclusive(temporary, path)
	})
}

// CreateFolder calls fill to write files into a folder that only its owner can read, and then renames the folder to path. fill
// must have synced the files to disk when it returns. The folder may replace an empty folder. If anything else is at path, or
// somebody else creates it meanwhile, CreateFolder leaves that alone and fails with fs.ErrExist.
func CreateFolder(path string, fill func(temporary string) error) error {
	path, err := filepath.Abs(path) // Abs also removes a slash at the end
	if err != nil {
		return err
	}
	if err := checkVacant(path); err != nil {
		return err
	}
	return inTemporaryFolder(path, func(temporary string) error {
		if err := errors.Join(os.Mkdir(temporary, 0o700), fill(temporary)); err != nil {
			return err
		}
		_ = sync(temporary, os.O_RDONLY)
		_ = syscall.Rmdir(path) // Removes an empty folder and nothing else, because os.Rename replaces no folder.
		if err := os.Rename(temporary, path); err != nil {
			return cmp.Or(checkVacant(path), err)
		}
		return nil
	})
}

// checkVacant returns nil if nothing or an empty folder is at path. If anything else is there, it returns fs.ErrExist. A symbolic
// link is something else, whether its target exists or not.
func checkVacant(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil || len(entries) == 0 {
			return err
		}
	}
	return cmp.Or(err, error(&fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}))
}

// The names of a call's temporary folder, and of the lock and the new file in it.
const (
	folderPattern = ".storefront-new-*"
	lockName      = "lock"
	newName       = "new"
)

// inTemporaryFolder makes a temporary folder beside path and calls write with the name of a file in it.
func inTemporaryFolder(path string, write func(temporary string) error) error {
	parent := filepath.Dir(path)
	removeAbandoned(parent)
	folder, lock, err := makeFolder(parent)
	if err != nil {
		return err
	}
	err = write(filepath.Join(folder, newName))
	remove(folder, lock)
	_ = sync(parent, os.O_RDONLY) // The error is ignored: systems that cannot sync a folder make a new name durable by themselves.
	return err
}

// maxTries is how many folders makeFolder makes at most. It makes another folder if removeAbandoned of another call has
// removed the last one, because a folder that is not locked yet looks like the folder of a dead process.
const maxTries = 10

// makeFolder makes a folder in parent and locks it.
func makeFolder(parent string) (folder string, lock *flock.Flock, err error) {
	for range maxTries {
		if folder, err = os.MkdirTemp(parent, folderPattern); err != nil { // mode 0700
			return "", nil, err
		}
		lock = lockIn(folder)
		held, lockErr := lock.TryLock()
		_, err = os.Stat(lock.Path())
		// On a file system without locks (lockErr) the folder is used unlocked. No other call removes it, because none can
		// lock it.
		if err == nil && (held || lockErr != nil) {
			return folder, lock, nil //nolint:nilerr // The folder is used without a lock.
		}
		remove(folder, lock)
	}
	return "", nil, errors.Join(err, &fs.PathError{Op: "lock", Path: folder, Err: errors.New("other calls take the folder away")})
}

// lockIn returns the lock of a temporary folder. Locking it makes its file if the folder has none.
func lockIn(folder string) *flock.Flock {
	return flock.New(filepath.Join(folder, lockName), flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR))
}

// removeAbandoned removes the temporary folders in parent whose processes have died. A process that died before it locked its
// folder, or while it removed the folder, has left a folder without a lock's file.
func removeAbandoned(parent string) {
	entries, _ := os.ReadDir(parent) // The error is ignored: making a folder in parent returns it.
	for _, entry := range entries {
		if ok, _ := filepath.Match(folderPattern, entry.Name()); !ok || !entry.IsDir() {
			continue
		}
		folder := filepath.Join(parent, entry.Name())
		lock := lockIn(folder)
		if dead, _ := lock.TryLock(); dead {
			remove(folder, lock)
		}
	}
}

// remove removes a folder that this call has made or locked, and releases the folder's lock.
func remove(folder string, lock *flock.Flock) {
	_ = os.RemoveAll(folder)
	_ = lock.Close()
	_ = os.RemoveAll(folder) // Once more after unlocking, because Windows removes no open file.
}

// renameExclusive renames a file. It fails if the new name exists already, where os.Rename would replace the file with that
// name. After a success the renamed file may have both names, the old one and the new one.
func renameExclusive(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// FAT and some network shares have no hard links. An empty file reserves the name instead.
	empty, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = empty.Close(); err == nil {
		err = os.Rename(from, to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// sync flushes a file or a folder to disk. flag is the flag of os.OpenFile.
func sync(path string, flag int) error {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
