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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	entdialect "entgo.io/ent/dialect"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"modernc.org/sqlite"

	"go.storefront.example/ent/migrations"
)

const (
	// readerWait and writerWait are how long SQLite waits for another process's lock.
	readerWait = 5 * time.Second
	writerWait = 10 * time.Second
	// migratorWait is for another migration that holds the lock.
	migratorWait = 2 * time.Minute
	// writerCache is 64 MB, because new rows change pages all over the indexes.
	writerCache = "cache_size(-64000)"
)

var sqliteFile = &dialect{
	name:     entdialect.SQLite,
	attempts: 2, // only two, because each attempt waits for the lock
	versions: "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '" + goose.DefaultTablename + "'",
	provider: func(pool *sql.DB, files fs.FS) (*goose.Provider, error) {
		versions, err := database.NewStore(database.DialectSQLite3, goose.DefaultTablename)
		if err != nil {
			return nil, err
		}
		return goose.NewProvider(goose.DialectCustom, pool, files,
			goose.WithStore(sqliteVersions{versions}), goose.WithDisableGlobalRegistry(true))
	},
	tables: `SELECT m.tbl_name, sum(CASE WHEN s.name = m.tbl_name AND s.pagetype = 'leaf' THEN s.ncell ELSE 0 END), sum(s.pgsize)
 FROM dbstat s JOIN sqlite_schema m ON m.name = s.name GROUP BY m.tbl_name ORDER BY 1`,
	checkMigratable: func(context.Context, *sql.DB) error { return nil },
	checkSearchPath: func(context.Context, *sql.DB) error { return nil },
	checkWritable:   checkSQLiteWritable,
}

// ErrLinked means that the SQLite file has hard links. SQLite keeps the log beside a name, so that processes with different
// names would destroy the file (https://www.sqlite.org/howtocorrupt.html, section 2.4).
var ErrLinked = errors.New("the file has several names (hard links), and another server may work on it under another name; " +
	"remove the others: find / -samefile FILE finds them")

func openSQLite(ctx context.Context, c Config, path string) (*DB, error) {
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return nil, fmt.Errorf("%w: sqlite: needs the path of a file", ErrURL)
	case strings.HasPrefix(path, ":memory:"):
		return nil, fmt.Errorf("%w: a database in memory would be lost with each connection; name a file", ErrURL)
	case strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///"):
		return nil, fmt.Errorf("%w: write sqlite:PATH, without slashes before the path", ErrURL)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	if _, err := os.Stat(path); (c.Existing || c.ReadOnly) && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w %s", ErrNoFile, path)
	}
	if c.ReadOnly {
		return openReadOnly(ctx, c, path)
	}
	if err := createFile(path); err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	switch links, err := linksOf(path); {
	case err != nil:
		return nil, fmt.Errorf("reach the database: %w", err)
	case links > 1:
		return nil, fmt.Errorf("%s: %w", path, ErrLinked)
	}
	writes, reads := writerWait, readerWait
	if c.LockTimeout > 0 {
		writes, reads = c.LockTimeout, min(c.LockTimeout, readerWait)
	}
	openWriter := func(keys string) (*sql.DB, error) {
		writer, err := c.openFile(path, "immediate", writes, "synchronous(normal)", keys, "journal_mode(wal)", writerCache,
			"secure_delete(1)") // deleted and erased data must not stay in the file
		if err == nil {
			writer.SetMaxOpenConns(1)
		}
		return writer, err
	}
	writer, err := openWriter("foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	reader, err := c.openFile(path, "deferred", reads, "query_only(1)")
	if err != nil {
		_ = writer.Close()
		return nil, err
	}
	conns := c.MaxConns
	if conns <= 0 {
		conns = max(4, runtime.GOMAXPROCS(0))
	}
	reader.SetMaxOpenConns(conns)
	reader.SetMaxIdleConns(conns)
	admissions := reader
	if c.AdmissionConns > 0 {
		if admissions, err = c.openFile(path, "deferred", reads, "query_only(1)"); err != nil {
			return nil, errors.Join(err, reader.Close(), writer.Close())
		}
		admissions.SetMaxOpenConns(conns)
		admissions.SetMaxIdleConns(conns)
	}
	// The writer creates the write-ahead log of a new file.
	for _, db := range []*sql.DB{writer, reader} {
		if err := db.PingContext(ctx); err != nil {
			_, _, _ = admissions.Close(), reader.Close(), writer.Close()
			return nil, fmt.Errorf("reach the database: open %s: %w", path, err)
		}
	}
	clock := newClock(c)
	return &DB{
		dialect:    sqliteFile,
		path:       path,
		reader:     reader,
		writer:     writer,
		admissions: admissions,
		prober:     reader,
		announcer: &watcher{now: clock.now, open: func() (*sql.DB, error) {
			return c.openFile(path, "deferred", reads, "query_only(1)")
		}},
		clock:          clock,
		foreignKeysOff: func() (*sql.DB, error) { return openWriter("foreign_keys(0)") },
		checkpointer:   func() (*sql.DB, error) { return c.openFile(path, "deferred", 0) },
		copier:         func() (*sql.DB, error) { return c.openFile(path, "deferred", reads) },
		migrator: func() (*sql.DB, error) {
			// SQLite's migrations rebuild a table by dropping the old one. With foreign keys on, DROP TABLE first deletes its
			// rows, and fails, or clears references of other tables. A migration with a DROP TABLE checks all foreign keys
			// before it commits.
			return c.openFile(path, "immediate", migratorWait, "foreign_keys(0)", "secure_delete(1)")
		},
	}, nil
}

// openReadOnly tells SQLite that the file is immutable (https://www.sqlite.org/uri.html#uriimmutable), so that it creates
// neither a log nor the log's index.
func openReadOnly(ctx context.Context, c Config, path string) (*DB, error) {
	if _, err := os.Stat(path + "-wal"); err == nil {
		return nil, fmt.Errorf("open %s: %s-wal is beside it: it is in use, or lacks what that file has", path, filepath.Base(path))
	}
	open := func() (*sql.DB, error) { return c.openFile(path, "deferred", readerWait, "query_only(1)") }
	reader, err := open()
	if err != nil {
		return nil, err
	}
	if err := reader.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), reader.Close())
	}
	clock := newClock(c)
	return &DB{dialect: sqliteFile, path: path, reader: reader, writer: reader, admissions: reader, prober: reader,
		announcer: &watcher{open: open, now: clock.now}, clock: clock}, nil
}

// WithoutForeignKeys calls fn with a writer that checks no foreign keys. Otherwise SQLite would search whole tables for rows
// that refer to a deleted one, because the keys do not contain the store, while all writers wait. The caller must have deleted
// those rows.
func (d *DB) WithoutForeignKeys(fn func(writer *sql.DB) error) error {
	if d.foreignKeysOff == nil {
		return fn(d.writer)
	}
	writer, err := d.foreignKeysOff()
	if err != nil {
		return err
	}
	return errors.Join(fn(writer), writer.Close())
}

// creating guards createFile, because closing any descriptor of a file releases all locks of the process on it.
var creating sync.Mutex

// createFile exists because SQLite would make the file readable by everyone.
func createFile(path string) error {
	creating.Lock()
	defer creating.Unlock()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		// The path is a link to a file that does not exist yet.
		f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// openFile returns connections with these pragmas. txlock is how a transaction starts: a writer needs "immediate", because
// otherwise its first write could fail while another writer has the lock.
func (c Config) openFile(path, txlock string, wait time.Duration, pragmas ...string) (*sql.DB, error) {
	query := url.Values{
		"_txlock": {txlock},
		// SQLite compares only integers correctly. rows.Next converts them back to times.
		"_time_integer_format": {"unix_milli"},
		"_pragma": append([]string{
			"busy_timeout(" + strconv.FormatInt(wait.Milliseconds(), 10) + ")",
			"cache_size(-16000)", // 16 MB for each connection
			"temp_store(memory)",
			"journal_size_limit(67108864)",
		}, pragmas...),
	}
	if c.ReadOnly {
		query["mode"], query["immutable"] = []string{"ro"}, []string{"1"}
	}
	connect, err := sqlite.NewConnector(fileURI(path, query))
	if err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	return sql.OpenDB(c.cachingConnector(connect, false)), nil
}

func fileURI(path string, query url.Values) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a Windows path begins with a drive letter
	}
	uri := url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}
	return uri.String()
}

// sqliteVersions is goose's table of versions on SQLite, for which goose has no lock.
type sqliteVersions struct{ database.Store }

// CreateVersionTable adds a unique index on the version, so that only one of two processes can commit a migration.
func (v sqliteVersions) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	if err := v.Store.CreateVersionTable(ctx, db); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "CREATE UNIQUE INDEX goose_db_version_id ON "+v.Tablename()+" (version_id)")
	return err
}

// Insert records a version inside its migration's transaction. If the migration drops a table, it first checks all foreign
// keys, which SQLite does not enforce during a migration. Others skip this, because it reads all rows while all writers wait.
func (v sqliteVersions) Insert(ctx context.Context, db database.DBTxConn, req database.InsertRequest) error {
	files, err := migrations.List(entdialect.SQLite)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(files, func(f migrations.File) bool { return f.Version == req.Version && !rebuildsTable(f) }) {
		return v.Store.Insert(ctx, db, req)
	}
	var table, parent string
	err = db.QueryRowContext(ctx, `SELECT "table", parent FROM pragma_foreign_key_check LIMIT 1`).Scan(&table, &parent)
	switch {
	case err == nil:
		return fmt.Errorf("rows of %s would refer to missing rows of %s", table, parent)
	case !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("check the foreign keys: %w", err)
	}
	return v.Store.Insert(ctx, db, req)
}

// rebuildsTable reports whether a migration drops a table and gives its name to another. Only then can foreign keys become
// invalid, because no migration drops a table to which others refer.
func rebuildsTable(f migrations.File) bool {
	all := strings.Join(f.Statements, "\n")
	return strings.Contains(all, "DROP TABLE") && strings.Contains(all, "RENAME TO")
}

const minFree = 1 << 20

var errFull = errors.New("the disk is full")

func checkSQLiteWritable(ctx context.Context, d *DB) error {
	// This small write may succeed on a disk that is too full for others.
	if free, err := FreeBytes(filepath.Dir(d.path)); err == nil && free < minFree {
		return fmt.Errorf("%s has %d bytes left: %w", filepath.Dir(d.path), free, errFull)
	}
	_, err := d.writer.ExecContext(ctx, "UPDATE "+goose.DefaultTablename+" SET is_applied = is_applied"+
		" WHERE id = (SELECT min(id) FROM "+goose.DefaultTablename+")")
	return err
}
