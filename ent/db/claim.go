package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrClaimed means that another process serves the SQLite file.
var ErrClaimed = errors.New("another server works on it")

// Claim is one process's right to serve a database.
type Claim struct{ lock *flock.Flock }

const claimTimeout = 200 * time.Millisecond

// ClaimServer must come before opening the database, because two servers on one SQLite file would block each other, and two dev
// servers would revoke each other's keys. Workers and commands need no claim. It fails with ErrClaimed. The claim is a lock on
// a file with the suffix .lock, which the system releases when the process dies; file systems shared between machines may
// support neither it nor SQLite's locks. On PostgreSQL any number of servers may run.
func ClaimServer(databaseURL string) (*Claim, error) {
	path, embedded := strings.CutPrefix(databaseURL, "sqlite:")
	if !embedded || path == "" {
		return &Claim{}, nil // there is nothing to claim, and Open refuses a wrong URL
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("claim the database: %w", err)
	}
	lock := claimLock(path)
	// IsClaimed holds the lock for a moment.
	ctx, cancel := context.WithTimeout(context.Background(), claimTimeout)
	defer cancel()
	switch claimed, err := lock.TryLockContext(ctx, claimTimeout/10); {
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("claim the database: %w", err)
	case !claimed:
		return nil, fmt.Errorf("%s: %w; stop that one, or name another database", path, ErrClaimed)
	}
	return &Claim{lock}, nil
}

// claimLock follows symbolic links, so that a file with several paths has one lock.
func claimLock(path string) *flock.Flock {
	return flock.New(withoutLinks(path)+".lock", flock.SetPermissions(0o600))
}

// withoutLinks resolves symbolic links, even of a file that does not exist yet.
func withoutLinks(path string) string {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}

// IsClaimed reports whether a process has claimed the SQLite file. It creates no database file.
func IsClaimed(path string) (bool, error) {
	lock := claimLock(path)
	if _, err := os.Stat(lock.Path()); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	free, err := lock.TryRLock() // a shared lock, so that two processes may ask at once
	return !free && err == nil, errors.Join(err, lock.Close())
}

// Release gives up the claim.
func (c *Claim) Release() error {
	if c.lock == nil {
		return nil
	}
	return c.lock.Close()
}
