package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrClaimed is the error of a SQLite file that another process serves.
var ErrClaimed = errors.New("another server works on it")

// Claim is one process's right to serve a database.
type Claim struct{ file *os.File }

// ClaimServer claims the right to be the server of a database, before anything is done to it: two
// servers on one SQLite file would keep one another waiting, and two dev ones revoke one another's
// keys. Workers and commands need no claim. It fails with ErrClaimed while another process has it. The
// claim is a lock of the file beside the database named .lock, which the system takes back from a
// process that dies; the file stays, and is worth nothing by itself. A file system that is shared
// between machines may not carry such locks, nor SQLite's own. On PostgreSQL any number may serve.
func ClaimServer(databaseURL string) (*Claim, error) {
	path, embedded := strings.CutPrefix(databaseURL, "sqlite:")
	if !embedded || path == "" {
		return &Claim{}, nil // Open refuses a URL that is wrong
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("claim the database: %w", err)
	}
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("claim the database: %w", err)
	}
	held, err := lockFile(file)
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("claim the database: lock %s: %w", file.Name(), err), file.Close())
	case held:
		return nil, errors.Join(fmt.Errorf("%s: %w; stop that one, or name another database", path, ErrClaimed), file.Close())
	}
	return &Claim{file}, nil
}

// Release gives the right back.
func (c *Claim) Release() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}
