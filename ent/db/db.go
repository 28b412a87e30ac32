// Package db opens the database and owns what differs between the two that the service
// knows: PostgreSQL, which any number of processes share, and SQLite, embedded in one file. It
// gives transactions with one time and with their journal and outbox rows, a clock, the pools,
// the migrations and the meaning of the databases' errors.
//
// It knows no table by itself and no rule of the shop. It refuses to nest transactions, to write
// through the read pool on SQLite, and to show a password in an error.
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

// Config tells which database to open and how.
type Config struct {
	// URL is sqlite:PATH, postgres://… or postgresql://…, of one host or of several separated by commas,
	// of which the one that can be written is used unless target_session_attrs names another.
	URL string
	// Clock replaces the clock that everything in the database goes by; PostgreSQL's statements
	// are given its time. Nil is PostgreSQL's own clock, and on SQLite this process's. For tests;
	// goroutines share it.
	Clock func() time.Time
	// ProcessClock replaces this process's clock, which on PostgreSQL is only compared with the
	// database's. Nil is Clock, or time.Now. For tests; goroutines share it.
	ProcessClock func() time.Time
	// MaxConns bounds the connections to PostgreSQL, or those that read from SQLite beside its
	// single writer. 0 chooses by the number of processors.
	MaxConns int
	// AdmissionConns is how many connections to PostgreSQL are kept for admissions alone, so that no
	// other work holds them up; 0 means none, and admissions share the others. On SQLite they go
	// through the single writer.
	AdmissionConns int
	// StatementTimeout bounds each statement on PostgreSQL; 0 is the server's own setting.
	StatementTimeout time.Duration
	// LockTimeout bounds each wait for a lock: for any on PostgreSQL, for the file on SQLite. 0 is
	// the server's own setting on PostgreSQL, and seconds on SQLite.
	LockTimeout time.Duration
	// Observe, when not nil, is called once for each round trip to the database: with the text
	// of a statement, with BEGIN, COMMIT, ROLLBACK or PING, and with "prepare" for the extra trip
	// that prepares or forgets a statement. Goroutines share it.
	Observe func(query string)

	// Settings are PostgreSQL's settings for each connection, by name, such as enable_seqscan.
	// SQLite has none of them.
	Settings map[string]string

	// unkept turns the keeping of prepared statements off, for comparison.
	unkept bool
}

// DB is an open database. Goroutines may share it.
type DB struct {
	dialect        string
	reader, writer *sql.DB
	prober         *sql.DB     // on SQLite the reader, on PostgreSQL one connection of its own
	admissions     *sql.DB     // on writer, unless it has connections of its own
	client, tx     *ent.Client // on reader and writer
	clock          *clock
	moments        hook.Clock // of transactions
	announcer      *announcer
	url            string
	path           string // of the SQLite file
	// migrator opens the pool that migrations run on.
	migrator func() (*sql.DB, error)
}

// Open opens the database and makes sure that it answers. It does not migrate. An error is one
// line, without the password: ErrURL when the URL is malformed, else "reach the database: …".
// On SQLite the file is made if it is not there, readable by its owner only.
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

// Writer is the pool for statements that write outside a transaction: on SQLite the single
// connection that writes, on PostgreSQL the same pool as Reader. Using it, or on PostgreSQL
// Reader, inside a transaction waits for a connection while holding one: use the transaction.
func (s *DB) Writer() *sql.DB { return s.writer }

// Admissions is the pool for the statement that admits a request. On PostgreSQL its connections
// are its own where Config gives it some.
func (s *DB) Admissions() *sql.DB { return s.admissions }

// AdmissionConns is how many connections are kept for admissions alone; 0 means none.
func (s *DB) AdmissionConns() int {
	if s.admissions == s.writer {
		return 0
	}
	return s.admissions.Stats().MaxOpenConnections
}

// Conns is how many statements the database takes at a time beside admissions: the size of the pool
// that reads.
func (s *DB) Conns() int { return s.reader.Stats().MaxOpenConnections }

// Client is the ent client for reads outside transactions. Changes through it are refused.
func (s *DB) Client() *ent.Client { return s.client }

// Now is the time by the store's clock: UTC, truncated to milliseconds. On PostgreSQL that is the
// database's clock as Open and ReadClock last read it, whatever this process's clock shows.
func (s *DB) Now() time.Time { return s.clock.now().UTC().Truncate(time.Millisecond) }

// Moment is the argument by which a statement learns the time that leases go by, as in
// COALESCE($1, now()): nil on PostgreSQL, where the database's clock decides, so that clocks of
// several hosts need not agree; the store's time on SQLite, or under a clock of the caller's.
func (s *DB) Moment() any {
	if s.dialect == dialect.Postgres && s.clock.given == nil {
		return nil
	}
	return s.Now()
}

// Ping makes sure that the database answers.
func (s *DB) Ping(ctx context.Context) error { return s.reader.PingContext(ctx) }

// Close closes the pools. Whatever uses the store must have ended.
func (s *DB) Close() error {
	s.announcer.close()
	if s.dialect == dialect.Postgres {
		errs := []error{s.prober.Close()}
		if s.admissions != s.writer {
			errs = append(errs, s.admissions.Close())
		}
		return errors.Join(append(errs, s.writer.Close())...)
	}
	// The writer last: the last connection to close folds the write-ahead log into the file.
	return errors.Join(s.reader.Close(), s.writer.Close())
}
