package db

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"go.storefront.example/ent/atomicfile"
)

// ErrNotEmbedded means that the database is on PostgreSQL, which has its own backup tools.
var ErrNotEmbedded = errors.New("only a SQLite database is one file")

// UnverifiedSuffix is the suffix of a copy that the check of Backup rejected.
const UnverifiedSuffix = ".unverified"

// Backup copies a SQLite database as of one moment into a new file for its owner alone, while others use the database, and
// returns its length. It calls check, unless that is nil, on a temporary file and renames an accepted copy to path. A rejected
// one gets UnverifiedSuffix, because it may be the only copy left. It fails with fs.ErrExist if path exists, and with
// ErrNotEmbedded.
func (d *DB) Backup(ctx context.Context, path string, check func(temporary string) error) (bytes int64, err error) {
	if d.path == "" {
		return 0, ErrNotEmbedded
	}
	err = atomicfile.Create(path, func(temporary string) error {
		if err := d.copyTo(ctx, temporary); err != nil {
			return err
		}
		info, err := os.Stat(temporary)
		if err != nil {
			return err
		}
		bytes = info.Size()
		if check == nil {
			return nil
		}
		if err := check(temporary); err != nil {
			keep := func(unverified string) error { return os.Rename(temporary, unverified) }
			if keepErr := atomicfile.Create(path+UnverifiedSuffix, keep); keepErr != nil {
				return fmt.Errorf("%w; the copy is not kept: %w", err, keepErr)
			}
			return fmt.Errorf("%w; the copy is %s", err, path+UnverifiedSuffix)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	return bytes, nil
}

func (d *DB) copyTo(ctx context.Context, file string) error {
	defer d.markReader(ctx, ReaderBackup)()
	// The reading pool's query_only rejects VACUUM INTO, and on the writing connection all changes would wait.
	pool, err := d.copier()
	if err != nil {
		return err
	}
	// SQLite copies into an existing file if it is empty (documentation of VACUUM). This one already has the right mode.
	_, err = pool.ExecContext(ctx, "VACUUM INTO $1", file)
	return errors.Join(err, pool.Close())
}

// FileID distinguishes a SQLite database and its copies from others. The first call generates it and stores it in the file's
// header (https://www.sqlite.org/pragma.html#pragma_user_version), which exists whatever the schema.
func (d *DB) FileID(ctx context.Context) (id uint32, err error) {
	const read = "PRAGMA user_version"
	if err := d.reader.QueryRowContext(ctx, read).Scan(&id); err != nil || id != 0 {
		return id, err
	}
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := tx.QueryRowContext(ctx, read).Scan(&id); err != nil || id != 0 {
		return id, err
	}
	id = 1 + rand.Uint32N(math.MaxInt32) //nolint:gosec // The number is no secret.
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("%s = %d", read, id)); err != nil {
		return 0, err
	}
	return id, tx.Commit()
}
