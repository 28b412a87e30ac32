package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"entgo.io/ent/dialect"
	"github.com/lib/pq"
	"modernc.org/sqlite"
)

// ErrURL means that a database URL is unusable: a mistake on the command line, not a failure.
var ErrURL = errors.New("database-url")

const (
	// connectTimeout bounds the wait for a PostgreSQL server, unless the URL sets another.
	connectTimeout = 10 * time.Second
	// hostTimeout is the same for each of several hosts: one that has vanished silently delays every
	// new connection by as much.
	hostTimeout = 3 * time.Second
	// idleTime is how long an unused connection to PostgreSQL is kept.
	idleTime = 5 * time.Minute
	// lifeTime is after how long a connection is replaced, so that a new server gets its share.
	lifeTime = time.Hour
	// readerWait and writerWait are how long SQLite waits for another process's lock.
	readerWait = 5 * time.Second
	writerWait = 10 * time.Second
	// migratorWait is the same for a migration, which may have to wait for another one.
	migratorWait = 2 * time.Minute
)

func open(ctx context.Context, c Config) (*DB, error) {
	scheme, rest, _ := strings.Cut(c.URL, ":")
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, c, rest)
	case "postgres", "postgresql":
		return openPostgres(ctx, c)
	case "":
		return nil, fmt.Errorf("%w: missing; write sqlite:PATH or postgres://…", ErrURL)
	default:
		// The text is not shown: it may be a URL with a password and a mistyped scheme.
		return nil, fmt.Errorf("%w: unknown kind of database; write sqlite:PATH or postgres://…", ErrURL)
	}
}

func openPostgres(ctx context.Context, c Config) (*DB, error) {
	connect, err := postgresConnector(c.URL)
	if err != nil {
		return nil, err
	}
	conns := c.MaxConns
	if conns <= 0 {
		conns = max(10, 4*runtime.GOMAXPROCS(0))
	}
	db := sql.OpenDB(c.keep(connect, true))
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	// Before the pool is bounded, because it takes two connections.
	if err := refusePooler(ctx, db); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxIdleTime(idleTime)
	db.SetConnMaxLifetime(lifeTime)
	admissions := db
	if c.AdmissionConns > 0 {
		admissions = sql.OpenDB(c.keep(connect, true))
		admissions.SetMaxOpenConns(c.AdmissionConns)
		admissions.SetMaxIdleConns(c.AdmissionConns)
		admissions.SetConnMaxIdleTime(idleTime)
		admissions.SetConnMaxLifetime(lifeTime)
	}
	s := &DB{
		dialect:    dialect.Postgres,
		reader:     db,
		writer:     db,
		admissions: admissions,
		clock:      newClock(c),
		prober:     c.openProber(connect),
		announcer:  newAnnouncer(connect),
		migrator: func() (*sql.DB, error) {
			return sql.OpenDB(connect), nil
		},
	}
	s.clock.asked = func(ctx context.Context) (read time.Time, err error) {
		err = db.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&read)
		return read, err
	}
	if _, err := s.ReadClock(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	return s, nil
}

// settings are those of each connection to PostgreSQL, including the timeouts. The second one ends
// a transaction that its process left open, and so releases its locks.
func (c Config) settings() map[string]string {
	all := maps.Clone(c.Settings)
	if all == nil {
		all = map[string]string{}
	}
	if c.StatementTimeout > 0 {
		all["statement_timeout"] = strconv.FormatInt(c.StatementTimeout.Milliseconds(), 10)
		all["idle_in_transaction_session_timeout"] = strconv.FormatInt(2*c.StatementTimeout.Milliseconds(), 10)
	}
	if c.LockTimeout > 0 {
		all["lock_timeout"] = strconv.FormatInt(c.LockTimeout.Milliseconds(), 10)
	}
	return all
}

func postgresConnector(text string) (driver.Connector, error) {
	cfg, err := postgresConfig(text)
	if err != nil {
		return nil, err
	}
	connect, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	connect.Dialer(newDialer())
	return connect, nil
}

// openProber returns the connection for checking the database itself. It opens on first use and is
// not observed.
func (c Config) openProber(connect driver.Connector) *sql.DB {
	c.Observe = func(string) {}
	db := sql.OpenDB(c.keep(connect, true))
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(idleTime)
	db.SetConnMaxLifetime(lifeTime)
	return db
}

// postgresConfig reads a PostgreSQL URL. Its error is ErrURL.
func postgresConfig(text string) (pq.Config, error) {
	text = spreadHosts(text)
	// Neither error below is shown: both quote parts of the URL, and a password with a character that
	// is not percent-encoded may be in any part of it.
	u, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(text, u.Scheme+"://") {
		return pq.Config{}, fmt.Errorf("%w: not a PostgreSQL URL; write postgres://user:password@host:port/name, "+
			"special characters percent-encoded", ErrURL)
	}
	cfg, err := pq.NewConfig(text)
	if err != nil {
		return pq.Config{}, fmt.Errorf("%w: a parameter of the PostgreSQL URL, or of the PG… environment, is not valid", ErrURL)
	}
	// Otherwise the driver's result would depend on the server's zone.
	if cfg.Runtime == nil {
		cfg.Runtime = map[string]string{}
	}
	cfg.Runtime["timezone"] = "UTC"
	// PostgreSQL refuses text for a jsonb column in the binary format.
	cfg.BinaryParameters = false
	several := len(cfg.Multi) > 0
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
		if several {
			cfg.ConnectTimeout = hostTimeout
		}
	}
	if several && cfg.TargetSessionAttrs == "" {
		cfg.TargetSessionAttrs = pq.TargetSessionAttrsReadWrite
	}
	if cfg.ApplicationName == "" {
		cfg.ApplicationName = "storefront"
	}
	if cfg.SSLMode == "" {
		cfg.SSLMode = pq.SSLModePrefer // libpq's default; lib/pq's is require
	}
	return cfg, nil
}

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
	if err := createFile(path); err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	writes, reads := writerWait, readerWait
	if c.LockTimeout > 0 {
		writes, reads = c.LockTimeout, min(c.LockTimeout, readerWait)
	}
	writer, err := c.openFile(path, "immediate", writes, "synchronous(normal)", "foreign_keys(1)", "journal_mode(wal)")
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
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
	// The writer is first: it creates the write-ahead log of a new file.
	for _, db := range []*sql.DB{writer, reader} {
		if err := db.PingContext(ctx); err != nil {
			_, _ = reader.Close(), writer.Close()
			return nil, fmt.Errorf("reach the database: open %s: %w", path, err)
		}
	}
	return &DB{
		dialect:    dialect.SQLite,
		path:       path,
		reader:     reader,
		writer:     writer,
		admissions: writer,
		prober:     reader,
		announcer:  newAnnouncer(nil),
		clock:      newClock(c),
		migrator: func() (*sql.DB, error) {
			// Rebuilding a table drops it, which with foreign keys on would delete the rows that refer to
			// it; each migration checks them before it commits.
			return c.openFile(path, "immediate", migratorWait, "foreign_keys(0)")
		},
	}, nil
}

// creating keeps the file from being closed here while the process opens it elsewhere: closing any
// descriptor of a file releases all of the process's locks on it.
var creating sync.Mutex

// createFile creates a new database file; SQLite would make it readable by everyone.
func createFile(path string) error {
	creating.Lock()
	defer creating.Unlock()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// openFile returns a pool of connections to the file, each with the pragmas set. txlock is the kind
// of lock that a transaction starts with: a writer takes its lock at once, so that it cannot lose
// it half-way.
func (c Config) openFile(path, txlock string, wait time.Duration, pragmas ...string) (*sql.DB, error) {
	query := url.Values{
		"_txlock": {txlock},
		// Times are stored as integers, the only form that SQLite compares correctly; rows converts
		// them back to times.
		"_time_integer_format": {"unix_milli"},
		"_pragma": append(pragmas,
			"busy_timeout("+strconv.FormatInt(wait.Milliseconds(), 10)+")",
			"cache_size(-16000)", // 16 MB for each connection
			"temp_store(memory)",
			"journal_size_limit(67108864)",
		),
	}
	connect, err := sqlite.NewConnector(fileURI(path, query))
	if err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	return sql.OpenDB(c.keep(connect, false)), nil
}

// fileURI returns a path and its parameters in SQLite's form.
func fileURI(path string, query url.Values) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	uri := url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}
	return uri.String()
}

// keep makes the connector's connections cache their prepared statements.
func (c Config) keep(inner driver.Connector, remote bool) driver.Connector {
	kept := keptStatements
	if c.unkept {
		kept = 0
	}
	made := &connector{Connector: inner, kept: kept, remote: remote, observe: c.Observe}
	if remote {
		made.settings, made.watch = settingsStatement(c.settings()), pq.SetNoticeHandler
	}
	return made
}

// settingsStatement returns the statement that applies the settings to a connection, "" if there
// are none.
func settingsStatement(settings map[string]string) string {
	if len(settings) == 0 {
		return ""
	}
	calls := make([]string, 0, len(settings))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		calls = append(calls, "set_config("+pq.QuoteLiteral(name)+", "+pq.QuoteLiteral(settings[name])+", false)")
	}
	return "SELECT " + strings.Join(calls, ", ")
}
