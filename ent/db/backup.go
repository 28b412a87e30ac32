package db

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.storefront.example/ent/atomicfile"
)

// ErrNotEmbedded means that the database is PostgreSQL, which has its own backup tools.
var ErrNotEmbedded = errors.New("only a SQLite database is one file")

// Backup copies a SQLite database into a new file, readable only by its owner, in the state of one
// moment, while others read and write it. The file gets its name as atomicfile.Create says. An existing file is
// left alone, with the error fs.ErrExist. Backup returns the copy's length in bytes. On PostgreSQL it
// fails with ErrNotEmbedded.
func (s *DB) Backup(ctx context.Context, path string) (bytes int64, err error) {
	if s.path == "" {
		return 0, ErrNotEmbedded
	}
	defer s.markReader(ctx, ReaderBackup)()
	err = atomicfile.Create(path, func(temporary string) (err error) {
		// VACUUM INTO only reads the database, but query_only refuses it, and on the writer all changes would wait for its end.
		pool, err := s.copier()
		if err != nil {
			return err
		}
		// SQLite accepts an empty file (its documentation of VACUUM), and this one has the right mode.
		_, err = pool.ExecContext(ctx, "VACUUM INTO $1", temporary)
		if err = errors.Join(err, pool.Close()); err != nil {
			return err
		}
		info, err := os.Stat(temporary)
		if err == nil {
			bytes = info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	return bytes, nil
}
