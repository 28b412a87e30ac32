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

// InUse reports whether anybody has the SQLite file of a database URL open in WAL mode, as servers,
// workers and commands do while they run; this process too, so it is asked before Open. It writes
// nothing: it takes SQLite's exclusive lock, which whoever has the file open keeps it from having,
// and gives it back at once. Who opens the file in that instant waits for it. A file that is not
// there is in nobody's use, and is not made. For PostgreSQL it is false: there the sessions tell.
func InUse(ctx context.Context, databaseURL string) (bool, error) {
	path, embedded := strings.CutPrefix(databaseURL, "sqlite:")
	if _, err := os.Stat(path); !embedded || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return false, fmt.Errorf("look who uses the database: %w", err)
	}
	// No other pragma: one that reads the file first would have it opened for sharing.
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
