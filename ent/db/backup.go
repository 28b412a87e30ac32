package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNotEmbedded means that the database is PostgreSQL, which has its own backup tools.
var ErrNotEmbedded = errors.New("only a SQLite database is one file")

// Backup copies a SQLite database into a new file, readable only by its owner, in the state of one
// moment, while others read and write it. The file gets its name only once it is complete and on
// disk; on a file system without hard links an empty file holds the name for a moment before that, and
// stays if the process dies then. An existing file is left alone, with the error fs.ErrExist. Backup
// returns the copy's length in bytes. On PostgreSQL it fails with ErrNotEmbedded.
func (s *DB) Backup(ctx context.Context, path string) (bytes int64, err error) {
	if s.path == "" {
		return 0, ErrNotEmbedded
	}
	// Check before the work, so that an existing file fails early.
	if _, err := os.Lstat(path); err == nil {
		return 0, fmt.Errorf("back up: %s: %w", path, os.ErrExist)
	}
	copied, err := os.CreateTemp(filepath.Dir(path), ".backup-*") // mode 0600
	if err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	defer func() { _ = os.Remove(copied.Name()) }()
	if err := copied.Close(); err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	// SQLite accepts an empty file (its documentation of VACUUM), and this one has the right mode.
	if _, err := s.writer.ExecContext(ctx, "VACUUM INTO $1", copied.Name()); err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	if bytes, err = syncFile(copied.Name()); err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	if err := giveName(copied.Name(), path); err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	syncFolder(filepath.Dir(path))
	return bytes, nil
}

// giveName gives a file a name that no other file has, or fails with fs.ErrExist; os.Rename would replace
// the other file. The old name may stay.
func giveName(from, to string) error {
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

// syncFolder makes a new name durable; systems that cannot sync a folder do it by themselves.
func syncFolder(path string) {
	folder, err := os.Open(path)
	if err != nil {
		return
	}
	_ = folder.Sync()
	_ = folder.Close()
}

// syncFile flushes a file to disk and returns its length in bytes.
func syncFile(path string) (int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}
