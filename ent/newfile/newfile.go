// Package newfile creates files that are whole: a file gets its name only once its bytes are on disk, and
// takes the name of no other.
package newfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Create has fill write a file, readable only by its owner, under a temporary name in the same folder,
// and gives it the path. An existing file is left alone, with the error fs.ErrExist. On a file system without
// hard links an empty file holds the path for a moment before that, and stays if the process dies then.
func Create(path string, fill func(temporary string) error) error {
	folder := filepath.Dir(path)
	temporary, err := os.CreateTemp(folder, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	if err := errors.Join(temporary.Close(), fill(temporary.Name()), sync(temporary.Name(), os.O_RDWR)); err != nil {
		return err
	}
	if err := name(temporary.Name(), path); err != nil {
		return err
	}
	_ = sync(folder, os.O_RDONLY) // Systems that cannot sync a folder make a new name durable by themselves.
	return nil
}

// name gives a file a name that no other file has; os.Rename would replace the other file. The old name may stay.
func name(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// FAT and some network shares have no links. The empty file keeps others from the name.
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

// sync flushes a file or a folder to disk.
func sync(path string, how int) error {
	f, err := os.OpenFile(path, how, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Folder makes a folder for files on their way to a path: beside it, hidden, readable only by its owner. What a call
// for the same path that died has left there is removed. An existing file, or a folder with something in it, is left
// alone at the path, with the error fs.ErrExist. remove removes the folder and what is in it, wherever Place has not put it.
func Folder(path string) (temporary string, remove func(), err error) {
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	temporary = filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	err = errors.Join(os.RemoveAll(temporary), os.Mkdir(temporary, 0o700))
	return temporary, func() { _ = os.RemoveAll(temporary) }, err
}

// Place gives a Folder, whose files are on disk, its path.
func Place(temporary, path string) error {
	// Windows renames to no folder that is there; this removes an empty one only.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	_ = sync(filepath.Dir(path), os.O_RDONLY)
	return nil
}
