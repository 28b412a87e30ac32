// Package db opens the database and owns the differences between the two supported ones:
// PostgreSQL, which any number of processes share, and SQLite, embedded in one file. It provides
// transactions, a clock, the pools, the migrations and the classification of database errors.
//
// It contains no table, no business rule and no record of a change: package hook opens it and has the transaction of a change. It refuses to nest transactions, to write through the
// read pool on SQLite, and to show a password in an error.
//
//	             SQLite                              PostgreSQL
//	Reader   N connections, query_only  ─┐        one pool of N
//	Writer   1 connection, BEGIN IMMEDIATE│        the same pool
//
// Every connection keeps its prepared statements, which lib/pq and modernc.org/sqlite do not.
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

// Config selects the database and configures it.
type Config struct {
	// URL is sqlite:PATH, postgres://… or postgresql://…, with one host or several: before the name, as libpq
	// has them (postgres://a:5432,b:5432/name), or as ?host=a,b&port=5432,5432. Of several, the writable one is
	// used unless target_session_attrs selects another.
	URL string
	// Existing refuses a SQLite file that does not exist with ErrNoFile; otherwise Open creates it.
	Existing bool
	// ReadOnly opens a SQLite file that exists and that nobody writes, such as a backup: the file and its folder stay as they are.
	// A file with a write-ahead log beside it is refused, because it is in use or lacks what the log has.
	ReadOnly bool
	// Clock replaces the clock for everything in the database; PostgreSQL's statements get its time
	// as a parameter. Nil means PostgreSQL's own clock, and on SQLite this process's. For tests;
	// goroutines share it.
	Clock func() time.Time
	// ProcessClock replaces this process's clock, which on PostgreSQL is only compared with the
	// database's. Nil means Clock, or time.Now. For tests; goroutines share it.
	ProcessClock func() time.Time
	// MaxConns bounds the connections to PostgreSQL, or SQLite's reading connections beside its
	// single writer. 0 chooses by the number of processors.
	MaxConns int
	// AdmissionConns is how many connections are reserved for admissions, so that no other work
	// delays them; 0 means none, and admissions share the others. SQLite reserves as many as it has
	// for other reads.
	AdmissionConns int
	// StatementTimeout bounds each statement on PostgreSQL; 0 means the server's own setting.
	StatementTimeout time.Duration
	// LockTimeout bounds each wait for a lock: any lock on PostgreSQL, the file's on SQLite. 0 means
	// the server's own setting on PostgreSQL, and seconds on SQLite.
	LockTimeout time.Duration
	// Observe, if not nil, is called once for each round trip to the database: with the text of a
	// statement, with BEGIN, COMMIT, ROLLBACK or PING, and with "prepare" for the extra trip that
	// prepares or deallocates a statement. Goroutines share it.
	Observe func(query string)

	// Settings are PostgreSQL's settings for each connection, by name, such as enable_seqscan. SQLite
	// ignores them.
	Settings map[string]string

	// sessions are those of PostgreSQL's pools.
	sessions *sessions
}

// DB is an open database. Goroutines may share it.
type DB struct {
	dialect        *dialect
	reader, writer *sql.DB
	prober         *sql.DB     // on SQLite the reader, on PostgreSQL connections of its own
	admissions     *sql.DB     // the same as reader, unless connections are reserved
	client, tx     *ent.Client // on reader and writer
	prepare        func(*ent.Client)
	clock          *clock
	announcer      announcer
	followers      *signals // of FollowEvents
	path           string   // of the SQLite file
	// sharded is whether Citus distributed the tables by store before Open; that is done while nothing runs.
	sharded bool
	nodes   nodes
	// migrator opens the pool that migrations run on.
	migrator func() (*sql.DB, error)
	// unchecked opens the pool of WithoutForeignKeys; nil where that is the writer.
	unchecked func() (*sql.DB, error)
	// impatient and copier open the pools of EmptyLog and Backup; nil on PostgreSQL.
	impatient, copier func() (*sql.DB, error)
}

// dialect is what differs between the databases once they are open.
type dialect struct {
	name string // of entgo.io/ent/dialect
	// attempts bounds how often WithTx runs a transaction that loses to others.
	attempts int
	// rowLock is the clause of a SELECT that locks its rows; "" where one transaction at a time writes.
	rowLock string
	// versions counts the tables of migrations: none or one.
	versions string
	// findElsewhere returns ErrSearchPath if the tables are in another schema.
	findElsewhere func(ctx context.Context, pool *sql.DB) error
	// provider applies migrations through the pool.
	provider func(pool *sql.DB, files fs.FS) (*goose.Provider, error)
	// write writes something that changes nothing.
	write func(context.Context, *DB) error
}

// ErrURL means that a database URL is unusable: a mistake on the command line, not a failure.
var ErrURL = errors.New("database-url")

// ErrNoFile means that there is no SQLite file at the path that the error names.
var ErrNoFile = errors.New("there is no database")

// Open opens the database and checks that it answers. It does not migrate. An error is one line,
// without the password: ErrURL if the URL is malformed, ErrNoFile, otherwise "reach the database: …".
// On SQLite it creates a missing file, readable only by its owner, unless Config.Existing.
//
// prepare adds the hooks to each ent client before its first use; nil adds none. Programs call hook.Open, which names those
// that record changes.
func Open(ctx context.Context, c Config, prepare func(*ent.Client)) (*DB, error) {
	s, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	s.prepare = prepare
	s.followers = &signals{}
	s.makeClients()
	if err := s.readNodes(ctx); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("read where Citus has the stores: %w", err)
	}
	return s, nil
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
		// The text is not shown: it may be a URL with a password and a mistyped scheme.
		return nil, fmt.Errorf("%w: unknown kind of database; write sqlite:PATH or postgres://…", ErrURL)
	}
}

// keep makes the connector's connections cache their prepared statements.
func (c Config) keep(inner driver.Connector, remote bool) driver.Connector {
	made := &connector{Connector: inner, kept: maxCachedStatements, remote: remote, observe: c.Observe, sessions: c.sessions}
	if remote {
		made.settings = settingsStatement(c.settings())
	}
	return made
}

// ByDialect returns what is made for the database: the value for PostgreSQL or for SQLite. Packages keep what differs between
// the two in such values.
func ByDialect[T any](d *DB, postgres, sqlite T) T {
	if d.dialect == sqliteFile {
		return sqlite
	}
	return postgres
}

// Distributed reports whether the stores' rows are spread over several machines. Then a statement locks rows of one store only,
// and a transaction on a store's rows (ForStore) cannot read the store's webhooks, which are on another machine.
func (d *DB) Distributed() bool { return d.sharded }

// Dialect is dialect.Postgres or dialect.SQLite of entgo.io/ent/dialect.
func (d *DB) Dialect() string { return d.dialect.name }

// Reader is the pool for statements that only read. Placeholders are $1, $2, … on both
// databases.
func (d *DB) Reader() *sql.DB { return d.reader }

// Writer is the pool for statements that write outside a transaction: on SQLite the single writing
// connection, on PostgreSQL the same pool as Reader. Do not use it, or on PostgreSQL Reader, inside
// a transaction: that waits for a second connection while holding one.
func (d *DB) Writer() *sql.DB { return d.writer }

// Admissions is the pool for the statement that admits a request, with connections of its own if Config
// reserves some. On SQLite they only read.
func (d *DB) Admissions() *sql.DB { return d.admissions }

// Conns is how many statements the database takes at a time besides admissions: the size of the
// reading pool.
func (d *DB) Conns() int { return d.reader.Stats().MaxOpenConnections }

// Client is the ent client for reads outside transactions. Changes through it are refused.
func (d *DB) Client() *ent.Client { return d.client }

// Now is the time by the database's clock: UTC, truncated to milliseconds. On PostgreSQL that is the
// database's clock as Open and ReadClock last read it, regardless of this process's clock.
func (d *DB) Now() time.Time { return d.clock.now().UTC().Truncate(time.Millisecond) }

// TimeArg is the time argument of a statement about leases, as in COALESCE($1, now()). It is nil on
// PostgreSQL, where the database's clock decides, so that the clocks of several hosts may differ.
// It is the store's time on SQLite, or with a given clock.
func (d *DB) TimeArg() any {
	if d.clock.asked != nil && d.clock.given == nil {
		return nil
	}
	return d.Now()
}

// Ping checks that the database answers.
func (d *DB) Ping(ctx context.Context) error { return d.reader.PingContext(ctx) }

// Close closes the pools. All users of the database must have ended.
func (d *DB) Close() error {
	d.announcer.close()
	var errs []error
	for _, node := range d.nodes.opened {
		errs = append(errs, node.reader.Close())
	}
	// SQLite's writer is last: the last connection to close writes the write-ahead log into the file.
	// A pool under two names is closed once.
	return errors.Join(append(errs, d.prober.Close(), d.reader.Close(), d.admissions.Close(), d.writer.Close())...)
}

// CheckWritable checks that the database can be written, by writing to it. A standby, a read-only
// file and a full disk fail, and so does a primary whose synchronous standby does not answer within
// the context's time. The schema must exist. On PostgreSQL it uses connections of its own, so that it
// waits for no other statement, and fails with ErrPooler once a pooler shares their sessions.
func (d *DB) CheckWritable(ctx context.Context) error {
	if err := d.dialect.write(ctx, d); err != nil {
		return fmt.Errorf("write to the database: %w", err)
	}
	return nil
}
