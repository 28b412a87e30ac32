package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"entgo.io/ent/dialect"
)

// ErrNotEmbedded says that a PostgreSQL database is backed up with that server's own tools.
var ErrNotEmbedded = errors.New("only a SQLite database is one file")

// Backup copies a SQLite database into a new file, readable by its owner only, as it is at one
// moment, while others read and write it. The file has its name only once it is whole and on disk;
// one that is there already is left alone, and the error is fs.ErrExist. It returns the copy's
// length in bytes. On PostgreSQL it fails with ErrNotEmbedded.
func (s *DB) Backup(ctx context.Context, path string) (bytes int64, err error) {
	if s.dialect != dialect.SQLite {
		return 0, ErrNotEmbedded
	}
	// Before the work, for which it may be too late afterwards.
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
	// An empty file is one that SQLite accepts (its documentation of VACUUM), and here has the mode.
	if _, err := s.writer.ExecContext(ctx, "VACUUM INTO $1", copied.Name()); err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	if bytes, err = syncFile(copied.Name()); err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	// A link fails where a rename would replace what another process has made meanwhile.
	if err := os.Link(copied.Name(), path); err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	return bytes, nil
}

// syncFile makes sure that a file is on disk and returns its length in bytes.
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
