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

// ErrNotEmbedded means that the database is PostgreSQL, which has its own backup tools.
var ErrNotEmbedded = errors.New("only a SQLite database is one file")

// Unverified ends the name of a copy that the check of Backup refused.
const Unverified = ".unverified"

// Backup copies a SQLite database into a new file, readable only by its owner, in the state of one
// moment, while others read and write it. The file gets its name, as atomicfile.Create says, once check, if it is not nil, has
// accepted the copy under a temporary name. A copy that it refuses is kept with Unverified behind the name, because it may be
// all that is left. An existing file is left alone, with the error fs.ErrExist. Backup returns the copy's length in bytes. On
// PostgreSQL it fails with ErrNotEmbedded.
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
			kept := atomicfile.Create(path+Unverified, func(unverified string) error { return os.Rename(temporary, unverified) })
			if kept != nil {
				return fmt.Errorf("%w; the copy is not kept: %w", err, kept)
			}
			return fmt.Errorf("%w; the copy is %s", err, path+Unverified)
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
	// VACUUM INTO only reads the database, but query_only refuses it, and on the writer all changes would wait for its end.
	pool, err := d.copier()
	if err != nil {
		return err
	}
	// SQLite accepts an empty file (its documentation of VACUUM), and this one has the right mode.
	_, err = pool.ExecContext(ctx, "VACUUM INTO $1", file)
	return errors.Join(err, pool.Close())
}

// FileID returns a number that tells a SQLite database and its copies from other databases. The first call makes it and keeps
// it in the file's header (https://www.sqlite.org/pragma.html#pragma_user_version), where a database of any schema has room.
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
	id = 1 + rand.Uint32N(math.MaxInt32) //nolint:gosec // It is no secret.
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("%s = %d", read, id)); err != nil {
		return 0, err
	}
	return id, tx.Commit()
}
