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

// Create calls fill to write a file for its owner alone, under a temporary name, and renames it to path. fill may keep other
// files beside the temporary name; Create removes them. It fails with fs.ErrExist if there is something at path, even since the
// call began. Without hard links in the file system, Create makes an empty file at path just before the rename, which stays if
// the process dies in between.
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

// CreateFolder calls fill to write files, which it must sync to disk, into a folder for its owner alone, and renames that to
// path. It may replace an empty folder, and fails with fs.ErrExist if there is anything else, even since the call began.
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

// checkVacant returns fs.ErrExist if anything but an empty folder is at path, even a symbolic link without a target.
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

const (
	folderPattern = ".storefront-new-*"
	lockName      = "lock"
	newName       = "new"
)

// inTemporaryFolder calls write with a name in a temporary folder beside path.
func inTemporaryFolder(path string, write func(temporary string) error) error {
	parent := filepath.Dir(path)
	removeAbandoned(parent)
	folder, lock, err := makeFolder(parent)
	if err != nil {
		return err
	}
	err = write(filepath.Join(folder, newName))
	remove(folder, lock)
	_ = sync(parent, os.O_RDONLY) // systems that cannot sync a folder make a new name durable by themselves
	return err
}

// maxTries is for removeAbandoned of another call, to which a folder that is not locked yet looks like that of a dead process.
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
		// On a file system without locks (lockErr) the folder is used unlocked. No other call can lock and remove it.
		if err == nil && (held || lockErr != nil) {
			return folder, lock, nil //nolint:nilerr // The folder is used without a lock.
		}
		remove(folder, lock)
	}
	return "", nil, errors.Join(err, &fs.PathError{Op: "lock", Path: folder, Err: errors.New("other calls take the folder away")})
}

// lockIn's lock makes its file if the folder has none.
func lockIn(folder string) *flock.Flock {
	return flock.New(filepath.Join(folder, lockName), flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR))
}

// removeAbandoned removes the temporary folders of dead processes. One that died before it locked its folder, or while it
// removed it, has left no lock's file.
func removeAbandoned(parent string) {
	entries, _ := os.ReadDir(parent) // making a folder in parent returns the error
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

// remove removes a folder that this call has made or locked.
func remove(folder string, lock *flock.Flock) {
	_ = os.RemoveAll(folder)
	_ = lock.Close()
	_ = os.RemoveAll(folder) // Windows removes no open file.
}

// renameExclusive fails if the new name exists, where os.Rename would replace it. Afterwards the file may have both names.
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
