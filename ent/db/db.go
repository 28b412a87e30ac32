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

// Config says which database to open, and how.
type Config struct {
	// URL is sqlite:PATH, postgres://… or postgresql://…. It may name several hosts in libpq's forms:
	// postgres://a:5432,b:5432/name or ?host=a,b&port=5432,5432. Open then uses the writable one, unless target_session_attrs
	// selects another.
	URL string
	// Existing makes Open fail with ErrNoFile if the SQLite file does not exist; otherwise Open creates it.
	Existing bool
	// ReadOnly opens an existing SQLite file that nobody writes, such as a backup, and leaves the file and its folder
	// unchanged. Open rejects a file with a write-ahead log beside it, because the file is in use or lacks the log's changes.
	ReadOnly bool
	// Clock replaces the database's clock in tests; statements on PostgreSQL get its time as a parameter. With nil,
	// PostgreSQL's own clock decides, and on SQLite this process's clock. Goroutines share it.
	Clock func() time.Time
	// ProcessClock replaces this process's clock in tests. On PostgreSQL this clock is only compared with the database's.
	// Nil means Clock, or time.Now if that is nil. Goroutines share it.
	ProcessClock func() time.Time
	// MaxConns is the most connections to PostgreSQL. On SQLite it is the most reading connections; a single further connection
	// writes. 0 means a number that depends on the number of processors.
	MaxConns int
	// AdmissionConns is how many connections are reserved for admitting requests (server/auth), so that no other work delays
	// the admission. With 0, admitting requests uses the common connections. On SQLite any other value reserves a second
	// pool as large as the pool for reading.
	AdmissionConns int
	// TotalConns is the most connections to PostgreSQL of all pools together; 0 means the sum that PoolSizes has without it. The
	// pools get their shares of it. SQLite ignores it.
	TotalConns int
	// StatementTimeout is how long a statement on PostgreSQL may take; 0 means the server's own setting.
	StatementTimeout time.Duration
	// LockTimeout is how long a statement waits for a lock; on SQLite the file is the only lock. 0 means the server's own
	// setting on PostgreSQL, and readerWait or writerWait on SQLite.
	LockTimeout time.Duration
	// PingInterval is how often a listener pings PostgreSQL. After three times as long without a byte from the server it
	// reconnects. 0 means five seconds.
	PingInterval time.Duration
	// Observe, if not nil, is called once for each round trip to the database: with the text of a
	// statement, with BEGIN, COMMIT, ROLLBACK or PING, and with "prepare" for the extra trip that
	// prepares or deallocates a statement. Goroutines share it.
	Observe func(query string)

	// Settings are PostgreSQL's settings for each connection, by name, such as enable_seqscan. SQLite
	// ignores them.
	Settings map[string]string

	// sessions records the server sessions of the connections to PostgreSQL, to detect a pooler.
	sessions *sessions
}

// DB is an open database. Goroutines may share it.
type DB struct {
	dialect        *dialect
	reader, writer *sql.DB
	prober         *sql.DB     // for CheckWritable; on SQLite the same pool as reader
	admissions     *sql.DB     // for admitting requests; the same pool as reader unless Config.AdmissionConns is set
	client, tx     *ent.Client // client uses the pool reader, tx the pool writer
	prepare        func(*ent.Client)
	clock          *clock
	announcer      announcer
	followers      *signals // signals for FollowEvents
	path           string   // of the SQLite file; "" on PostgreSQL
	// sharded is true if Citus had distributed the tables by store when Open ran. Tables are distributed only while no server
	// or worker runs.
	sharded bool
	nodes   nodes
	// coordinator is the cluster's coordinator if d is a node that ForStore returned; else nil.
	coordinator *DB
	// migrator opens the pool that migrations run on.
	migrator func() (*sql.DB, error)
	// foreignKeysOff opens the pool of WithoutForeignKeys; nil means the writer.
	foreignKeysOff func() (*sql.DB, error)
	// checkpointer and copier open the pools of EmptyLog and Backup; nil on PostgreSQL.
	checkpointer, copier func() (*sql.DB, error)
}

// dialect has the settings, statements and functions that differ between PostgreSQL and SQLite.
type dialect struct {
	name string // as in entgo.io/ent/dialect
	// attempts is how often WithTx runs a transaction at most, if it conflicts with others.
	attempts int
	// rowLock is the clause that makes a SELECT lock its rows; "" on SQLite, where one transaction at a time writes.
	rowLock string
	// versions is a query that returns 1 if goose's table of the applied migrations exists, and 0 if not.
	versions string
	// tables is a query of all tables: the name, an estimate of the rows, and the bytes with the indexes.
	tables string
	// checkMigratable returns an error if migrations could not be applied to the end.
	checkMigratable func(ctx context.Context, pool *sql.DB) error
	// checkSearchPath returns ErrSearchPath if the tables are in a schema that is not on the search_path.
	checkSearchPath func(ctx context.Context, pool *sql.DB) error
	// provider returns the provider of goose that applies the migrations in files through the pool.
	provider func(pool *sql.DB, files fs.FS) (*goose.Provider, error)
	// checkWritable tests whether the database accepts writes, with a write that changes no data.
	checkWritable func(context.Context, *DB) error
}

// ErrURL means that a database URL is unusable. It is a mistake on the command line, not a failure.
var ErrURL = errors.New("database-url")

// ErrNoFile means that there is no SQLite file at the path. The error names the path.
var ErrNoFile = errors.New("there is no database")

// Open opens the database and checks that it answers. It does not migrate. It fails with ErrURL if the URL is malformed, with
// ErrNoFile, or with "reach the database: …". Errors have one line and never the password. On SQLite it creates a missing file,
// readable only by its owner, unless Config.Existing.
//
// prepare adds hooks to each ent client before its first use; nil adds none. Programs call hook.Open instead, which adds the
// hook that records changes.
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

// cachingConnector wraps a connector so that its connections cache their prepared statements.
func (c Config) cachingConnector(inner driver.Connector, remote bool) driver.Connector {
	caching := &connector{Connector: inner, cacheSize: maxCachedStatements, remote: remote, observe: c.Observe,
		sessions: c.sessions}
	if remote {
		caching.settings = settingsStatement(c.settings())
	}
	return caching
}

// ByDialect returns its argument postgres if the database is PostgreSQL, and its argument sqlite if it is SQLite.
func ByDialect[T any](d *DB, postgres, sqlite T) T {
	if d.dialect == sqliteFile {
		return sqlite
	}
	return postgres
}

// Distributed reports whether the stores' rows are distributed over several nodes. Then a statement can lock rows of only one
// store.
func (d *DB) Distributed() bool { return d.sharded }

// Dialect returns dialect.Postgres or dialect.SQLite of entgo.io/ent/dialect.
func (d *DB) Dialect() string { return d.dialect.name }

// Reader returns the pool for statements that only read. Placeholders are $1, $2, … on both databases.
func (d *DB) Reader() *sql.DB { return d.reader }

// Writer returns the pool for statements that write outside a transaction: on SQLite the single writing connection, on
// PostgreSQL the same pool as Reader. Do not use Writer, or on PostgreSQL Reader, inside a transaction, because the statement
// would wait for a second connection while the transaction holds one.
func (d *DB) Writer() *sql.DB { return d.writer }

// Admissions returns the pool for the statement that admits a request. If Config.AdmissionConns is 0, it returns the same pool
// as Reader. On SQLite the connections of the pool can only read.
func (d *DB) Admissions() *sql.DB { return d.admissions }

// Conns returns how many connections the pool for reading has at most. Connections that are reserved for admitting requests
// do not count.
func (d *DB) Conns() int { return d.reader.Stats().MaxOpenConnections }

// Client returns the ent client for reads outside of transactions. It refuses changes.
func (d *DB) Client() *ent.Client { return d.client }

// Now returns the time by the database's clock, in UTC and truncated to milliseconds. On PostgreSQL it is derived from the last
// reading by Open or ReadClock, so a wrong clock of this process does not change it.
func (d *DB) Now() time.Time { return d.clock.now().UTC().Truncate(time.Millisecond) }

// TimeArg returns the time argument of a statement about leases, as in COALESCE($1, now()). On PostgreSQL it is nil, so that
// the statement takes the database's time, because the clocks of several hosts may differ. On SQLite, or with Config.Clock, it
// is Now.
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

// Close closes the pools. All users of the database must have ended. A connection that the network has already closed is no
// error.
func (d *DB) Close() error {
	d.announcer.close()
	var pools []*sql.DB
	for _, node := range d.nodes.opened {
		pools = append(pools, node.reader)
	}
	// Close SQLite's writer last, because the last connection copies the write-ahead log into the file. Two of these fields
	// may be the same pool; a second Close of a pool does nothing.
	var errs []error
	for _, pool := range append(pools, d.prober, d.reader, d.admissions, d.writer) {
		if err := pool.Close(); !isDisconnected(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// CheckWritable tests the database with a write. It fails on a standby, a read-only file or a full disk, and if a synchronous
// standby does not confirm the write before the context ends. The schema must exist. On PostgreSQL it uses connections of its
// own, so that it never waits for a free one. It fails with ErrPooler if a pooler shares their sessions.
func (d *DB) CheckWritable(ctx context.Context) error {
	if err := d.dialect.checkWritable(ctx, d); err != nil {
		return fmt.Errorf("write to the database: %w", err)
	}
	return nil
}
