// Package db opens the database and owns the differences between the two supported ones:
// PostgreSQL, which any number of processes share, and SQLite, embedded in one file. It provides
// transactions, each with one time and with their journal and outbox rows, a clock, the pools, the
// migrations and the classification of database errors.
//
// It contains no table and no business rule. It refuses to nest transactions, to write through the
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
	"errors"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
)

// Config selects the database and configures it.
type Config struct {
	// URL is sqlite:PATH, postgres://… or postgresql://…, with one host or several separated by
	// commas. Of several, the writable one is used unless target_session_attrs selects another.
	URL string
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
	// AdmissionConns is how many connections to PostgreSQL are reserved for admissions, so that no
	// other work delays them; 0 means none, and admissions share the others. On SQLite they go
	// through the single writer.
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

	// unkept turns off the cache of prepared statements, for comparison.
	unkept bool
}

// DB is an open database. Goroutines may share it.
type DB struct {
	dialect        string
	reader, writer *sql.DB
	prober         *sql.DB     // on SQLite the reader, on PostgreSQL one connection of its own
	admissions     *sql.DB     // the same as writer, unless connections are reserved
	client, tx     *ent.Client // on reader and writer
	clock          *clock
	moments        hook.Clock // of transactions
	announcer      *announcer
	url            string
	path           string // of the SQLite file
	// migrator opens the pool that migrations run on.
	migrator func() (*sql.DB, error)
}

// Open opens the database and checks that it answers. It does not migrate. An error is one line,
// without the password: ErrURL if the URL is malformed, otherwise "reach the database: …". On
// SQLite it creates a missing file, readable only by its owner.
func Open(ctx context.Context, c Config) (*DB, error) {
	if c.Observe == nil {
		c.Observe = func(string) {}
	}
	s, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	s.url = spreadHosts(c.URL)
	s.moments.Now, s.moments.Alone = s.Now, c.Clock != nil
	s.client = ent.NewClient(ent.Driver(entsql.OpenDB(s.dialect, s.reader)))
	s.tx = ent.NewClient(ent.Driver(entsql.OpenDB(s.dialect, s.writer)))
	hook.Register(s.client)
	hook.Register(s.tx)
	return s, nil
}

// Dialect is dialect.Postgres or dialect.SQLite of entgo.io/ent/dialect.
func (s *DB) Dialect() string { return s.dialect }

// Reader is the pool for statements that only read. Placeholders are $1, $2, … on both
// databases.
func (s *DB) Reader() *sql.DB { return s.reader }

// Writer is the pool for statements that write outside a transaction: on SQLite the single writing
// connection, on PostgreSQL the same pool as Reader. Do not use it, or on PostgreSQL Reader, inside
// a transaction: that waits for a second connection while holding one.
func (s *DB) Writer() *sql.DB { return s.writer }

// Admissions is the pool for the statement that admits a request. On PostgreSQL it has its own
// connections if Config reserves some.
func (s *DB) Admissions() *sql.DB { return s.admissions }

// AdmissionConns is how many connections are reserved for admissions; 0 means none.
func (s *DB) AdmissionConns() int {
	if s.admissions == s.writer {
		return 0
	}
	return s.admissions.Stats().MaxOpenConnections
}

// Conns is how many statements the database takes at a time besides admissions: the size of the
// reading pool.
func (s *DB) Conns() int { return s.reader.Stats().MaxOpenConnections }

// Client is the ent client for reads outside transactions. Changes through it are refused.
func (s *DB) Client() *ent.Client { return s.client }

// Now is the time by the store's clock: UTC, truncated to milliseconds. On PostgreSQL that is the
// database's clock as Open and ReadClock last read it, regardless of this process's clock.
func (s *DB) Now() time.Time { return s.clock.now().UTC().Truncate(time.Millisecond) }

// Moment is the time argument of a statement about leases, as in COALESCE($1, now()). It is nil on
// PostgreSQL, where the database's clock decides, so that the clocks of several hosts may differ.
// It is the store's time on SQLite, or with a given clock.
func (s *DB) Moment() any {
	if s.dialect == dialect.Postgres && s.clock.given == nil {
		return nil
	}
	return s.Now()
}

// Ping checks that the database answers.
func (s *DB) Ping(ctx context.Context) error { return s.reader.PingContext(ctx) }

// Close closes the pools. All users of the store must have ended.
func (s *DB) Close() error {
	s.announcer.close()
	if s.dialect == dialect.Postgres {
		errs := []error{s.prober.Close()}
		if s.admissions != s.writer {
			errs = append(errs, s.admissions.Close())
		}
		return errors.Join(append(errs, s.writer.Close())...)
	}
	// The writer is last: the last connection to close folds the write-ahead log into the file.
	return errors.Join(s.reader.Close(), s.writer.Close())
}
