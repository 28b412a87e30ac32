package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// InUse reports whether any process has the SQLite file of a database URL open in WAL mode, as
// running servers, workers and commands do. This process counts too, so call it before Open. It
// writes nothing: it takes SQLite's exclusive lock, which fails while others have the file open,
// and releases it at once. A process that opens the file at that instant waits for it. A missing
// file is not in use, and is not created. For PostgreSQL it returns false: there, read the
// sessions.
func InUse(ctx context.Context, databaseURL string) (bool, error) {
	path, embedded := strings.CutPrefix(databaseURL, "sqlite:")
	if _, err := os.Stat(path); !embedded || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return false, fmt.Errorf("look who uses the database: %w", err)
	}
	// No other pragma: one that reads the file first would open it for sharing.
	connect, err := sqlite.NewConnector(fileURI(path, url.Values{"_pragma": {"busy_timeout(0)", "locking_mode(exclusive)"}}))
	if err != nil {
		return false, fmt.Errorf("look who uses the database: %w", err)
	}
	db := sql.OpenDB(connect)
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	var tables int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	if IsLocked(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look who uses the database: %w", err)
	}
	return false, nil
}
