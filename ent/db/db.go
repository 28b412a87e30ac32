// Package db opens the database and owns the differences between the two supported databases: PostgreSQL, which any number of
// processes share, and SQLite, embedded in one file. It provides transactions, a clock, the pools, the migrations and the
// classification of database errors.
//
// It contains no table and no business rule, and writes no record of a change: programs open the database, and change it,
// through package hook. It refuses to nest transactions, to write through the read pool on SQLite, and to show a password in an
// error.
//
//	             SQLite                              PostgreSQL
//	Reader   N connections, query_only  ─┐        one pool of N
//	Writer   1 connection, BEGIN IMMEDIATE│        the same pool
//
// Every connection caches its prepared statements, because lib/pq and modernc.org/sqlite do not.
package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/pressly/goose/v3"

	"go.storefront.example/gen/ent"
)

// Config is the database to open, and how.
type Config struct {
	// URL is sqlite:PATH, postgres://… or postgresql://…. It may name several hosts, as for libpq:
	// postgres://a:5432,b:5432/name or ?host=a,b&port=5432,5432. Open then uses the writable one, unless target_session_attrs
	// selects another.
	URL string
	// Existing makes Open fail with ErrNoFile instead of creating a missing SQLite file.
	Existing bool
	// ReadOnly opens a SQLite file that nobody writes, such as a backup, and leaves its folder unchanged. Open rejects a file
	// with a write-ahead log: it is in use or lacks the log's changes.
	ReadOnly bool
	// Clock replaces the database's clock in tests; statements on PostgreSQL get its time as a parameter. Goroutines share it.
	Clock func() time.Time
	// ProcessClock replaces this process's clock in tests. Nil means Clock, or time.Now. Goroutines share it.
	ProcessClock func() time.Time
	// MaxConns is the most connections to PostgreSQL, or to read SQLite, where one more writes. 0 means a number that depends
	// on the processors.
	MaxConns int
	// AdmissionConns reserves connections for admitting requests (server/auth), so that no other work delays them. 0 reserves
	// none; on SQLite any other value reserves a second pool for reading.
	AdmissionConns int
	// TotalConns is the most connections to PostgreSQL of all pools together, which they share; 0 means the sum that PoolSizes
	// has without it. SQLite ignores it.
	TotalConns int
	// StatementTimeout is how long a statement on PostgreSQL may take; 0 means the server's own setting.
	StatementTimeout time.Duration
	// LockTimeout is how long a statement waits for a lock, on SQLite for the file. 0 means PostgreSQL's own setting, and
	// readerWait or writerWait on SQLite.
	LockTimeout time.Duration
	// PingInterval is how often a listener pings PostgreSQL; 0 means five seconds. After three times as long without a byte it
	// reconnects.
	PingInterval time.Duration
	// Observe, if not nil, is called for each round trip: with a statement, BEGIN, COMMIT, ROLLBACK or PING, and with "prepare"
	// for preparing or deallocating one. Goroutines share it.
	Observe func(query string)

	// Settings are PostgreSQL's, for each connection, by name, such as enable_seqscan.
	Settings map[string]string

	// sessions records the connections' sessions, to detect a pooler.
	sessions *sessions
}

// DB is an open database. Goroutines may share it.
type DB struct {
	dialect        *dialect
	reader, writer *sql.DB
	prober         *sql.DB     // for CheckWritable; on SQLite the same pool as reader
	admissions     *sql.DB     // the same pool as reader unless Config.AdmissionConns is set
	client, tx     *ent.Client // client uses the pool reader, tx the pool writer
	prepare        func(*ent.Client)
	clock          *clock
	announcer      announcer
	followers      *signals
	path           string // of the SQLite file; "" on PostgreSQL
	// sharded is true if Citus had distributed the tables when Open ran, which happens only while no server or worker runs.
	sharded bool
	nodes   nodes
	// coordinator is nil unless d is a node that ForStore returned.
	coordinator *DB
	migrator    func() (*sql.DB, error)
	// foreignKeysOff opens the pool of WithoutForeignKeys; nil means the writer.
	foreignKeysOff func() (*sql.DB, error)
	// checkpointer and copier open the pools of EmptyLog and Backup; nil on PostgreSQL.
	checkpointer, copier func() (*sql.DB, error)
}

type dialect struct {
	name string // as in entgo.io/ent/dialect
	// attempts is how often WithTx runs a conflicting transaction at most.
	attempts int
	// rowLock makes a SELECT lock its rows; "" on SQLite, where one transaction at a time writes.
	rowLock string
	// versions is a query for whether goose's table of versions exists, as 1 or 0.
	versions string
	// tables is a query of all tables: the name, an estimate of the rows, and the bytes with the indexes.
	tables string
	// checkMigratable returns an error if migrations could not be applied to the end.
	checkMigratable func(ctx context.Context, pool *sql.DB) error
	// checkSearchPath returns ErrSearchPath if the tables are in a schema that is not on the search_path.
	checkSearchPath func(ctx context.Context, pool *sql.DB) error
	provider        func(pool *sql.DB, files fs.FS) (*goose.Provider, error)
	// checkWritable writes without changing data.
	checkWritable func(context.Context, *DB) error
}

// ErrURL means that a database URL is unusable: a mistake on the command line, not a failure.
var ErrURL = errors.New("database-url")

// ErrNoFile means that there is no SQLite file at the path, which the error names.
var ErrNoFile = errors.New("there is no database")

// Open checks that the database answers, and does not migrate. It fails with ErrURL, ErrNoFile, or "reach the database: …", in
// one line and without the password. On SQLite it creates a missing file for its owner alone, unless Config.Existing.
//
// prepare adds hooks to each ent client before its first use; nil adds none. Programs call hook.Open instead, which records
// changes.
func Open(ctx context.Context, c Config, prepare func(*ent.Client)) (*DB, error) {
	d, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	d.prepare = prepare
	d.followers = &signals{}
	d.makeClients()
	if err := d.readNodes(ctx); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("read where Citus has the stores: %w", err)
	}
	return d, nil
}

func (d *DB) makeClients() {
	d.client = ent.NewClient(ent.Driver(entsql.OpenDB(d.dialect.name, d.reader)))
	d.tx = ent.NewClient(ent.Driver(entsql.OpenDB(d.dialect.name, d.writer)))
	if d.prepare != nil {
		d.prepare(d.client)
		d.prepare(d.tx)
	}
}

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
		// Do not show the text: it may be a URL with a password and a mistyped scheme.
		return nil, fmt.Errorf("%w: unknown kind of database; write sqlite:PATH or postgres://…", ErrURL)
	}
}

func (c Config) cachingConnector(inner driver.Connector, remote bool) driver.Connector {
	caching := &connector{Connector: inner, cacheSize: maxCachedStatements, remote: remote, observe: c.Observe,
		sessions: c.sessions}
	if remote {
		caching.settings = settingsStatement(c.settings())
	}
	return caching
}

// ByDialect returns postgres or sqlite, by the kind of d.
func ByDialect[T any](d *DB, postgres, sqlite T) T {
	if d.dialect == sqliteFile {
		return sqlite
	}
	return postgres
}

// Distributed reports whether the stores' rows are on several nodes, where a statement can lock rows of only one store.
func (d *DB) Distributed() bool { return d.sharded }

// Dialect returns dialect.Postgres or dialect.SQLite of entgo.io/ent/dialect.
func (d *DB) Dialect() string { return d.dialect.name }

// Reader returns the pool for statements that only read. Placeholders are $1, $2, … on both databases.
func (d *DB) Reader() *sql.DB { return d.reader }

// Writer returns the pool for writes outside a transaction: SQLite's single writing connection, or PostgreSQL's Reader. Inside
// a transaction a statement of it would wait for a second connection while the transaction holds one.
func (d *DB) Writer() *sql.DB { return d.writer }

// Admissions returns the pool for admitting requests, which is Reader if Config.AdmissionConns is 0. On SQLite it can only read.
func (d *DB) Admissions() *sql.DB { return d.admissions }

// Conns is the most connections of the pool for reading, without those reserved for admitting requests.
func (d *DB) Conns() int { return d.reader.Stats().MaxOpenConnections }

// Client is for reads outside of transactions. It refuses changes.
func (d *DB) Client() *ent.Client { return d.client }

// Now is the time by the database's clock, in UTC and truncated to milliseconds, as derived from the last reading.
func (d *DB) Now() time.Time { return d.clock.now().UTC().Truncate(time.Millisecond) }

// TimeArg is the time of a statement about leases, as in COALESCE($1, now()): nil on PostgreSQL, because the clocks of hosts
// may differ, and Now on SQLite or with Config.Clock.
func (d *DB) TimeArg() any {
	if d.clock.query != nil && d.clock.override == nil {
		return nil
	}
	return d.Now()
}

// Ping checks that the database answers through the pools that requests use. It waits for a free connection of each.
func (d *DB) Ping(ctx context.Context) error {
	for _, pool := range []*sql.DB{d.admissions, d.reader} {
		if err := pool.PingContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close needs that all users of the database have ended.
func (d *DB) Close() error {
	d.announcer.close()
	var pools []*sql.DB
	for _, node := range d.nodes.opened {
		pools = append(pools, node.reader)
	}
	// SQLite's last connection copies the write-ahead log into the file, so close the writer last. A second Close of a pool
	// does nothing.
	var errs []error
	for _, pool := range append(pools, d.prober, d.reader, d.admissions, d.writer) {
		if err := pool.Close(); !isDisconnected(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// CheckWritable writes. It fails on a standby, a read-only file, a full disk, without the confirmation of a synchronous standby
// before the context ends, and with ErrPooler. The schema must exist. On PostgreSQL it uses connections of its own, so that it
// never waits for a free one.
func (d *DB) CheckWritable(ctx context.Context) error {
	if err := d.dialect.checkWritable(ctx, d); err != nil {
		return fmt.Errorf("write to the database: %w", err)
	}
	return nil
}
