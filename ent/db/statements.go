package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/lib/pq"
)

const (
	// maxCachedStatements is more than the service has. A full cache drops the statement that was not used for the longest time.
	maxCachedStatements = 200

	// maxCachedQueryBytes leaves out long queries, which insert many rows and are rarely the same twice.
	maxCachedQueryBytes = 4096
)

// The texts that Config.Observe gets for round trips that run no statement of the caller.
const (
	tripPrepare  = "prepare"
	tripBegin    = "BEGIN"
	tripCommit   = "COMMIT"
	tripRollback = "ROLLBACK"
	tripPing     = "PING"
)

// connector opens connections that cache their prepared statements: lib/pq takes two round trips for each query with
// parameters, and modernc.org/sqlite parses each query again.
type connector struct {
	driver.Connector
	cacheSize int // statements that each connection caches; 0 means none
	remote    bool
	// settings is the first statement of each new connection, or "". A pooler rejects a connection request with unknown
	// settings.
	settings string
	// observe is called once for each round trip, unless nil.
	observe func(query string)
	// sessions finds connections that share a server session, unless nil.
	sessions *sessions
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	var socket net.Conn
	inner, err := c.Connector.Connect(context.WithValue(ctx, socketKey{}, &socket))
	if err != nil {
		return nil, &connectError{err}
	}
	full, ok := inner.(innerConn)
	if !ok {
		return nil, fmt.Errorf("connections of type %T are not supported", inner)
	}
	cn := &conn{innerConn: full, remote: c.remote, socket: socket, observe: func(string) {}, sessions: c.sessions}
	if c.cacheSize > 0 {
		// NewLRU fails only for a size below 1.
		cn.cache, _ = simplelru.NewLRU(c.cacheSize, func(_ string, s *statement) { cn.retire(s) })
	}
	if c.settings != "" {
		_, err = cn.ExecContext(ctx, c.settings, nil)
	}
	if c.sessions != nil {
		cn.shared = c.sessions.shared.Load()
		// A busy pooler may give the connection another session the second time.
		for range 2 {
			if err == nil {
				err = cn.checkSession(ctx)
			}
		}
		pq.SetNoticeHandler(inner, cn.handleNotice)
	}
	if err != nil {
		return nil, &connectError{errors.Join(err, cn.Close())}
	}
	if c.observe != nil {
		cn.observe = c.observe
	}
	return cn, nil
}

type innerConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

var (
	_ innerConn                = (*conn)(nil)
	_ driver.NamedValueChecker = (*conn)(nil)
)

type statement struct {
	driver.Stmt
	running bool // true while a result of the statement is being read
	retired bool // true if the statement must be closed as soon as running is false
}

// conn caches its prepared statements. database/sql guarantees that one goroutine uses it at a time.
type conn struct {
	innerConn
	cache   *simplelru.LRU[string, *statement]
	remote  bool     // true on PostgreSQL, which is a network away
	socket  net.Conn // nil on SQLite
	observe func(query string)
	inTx    bool
	broken  bool // true if the connection must not be reused
	// sessions is nil if sessions are not compared. shared is sessions.shared when the connection opened.
	sessions *sessions
	session  string
	shared   int64
	// unreplicated is true once the server no longer waits for its synchronous standby.
	unreplicated bool
}

// acquire returns nil if the driver must run the query itself, for example because the statement's previous result is still
// being read.
func (c *conn) acquire(ctx context.Context, query string, args []driver.NamedValue) (*statement, error) {
	if len(args) == 0 {
		return nil, nil
	}
	if c.cache != nil && len(query) <= maxCachedQueryBytes {
		s, ok := c.cache.Get(query)
		if !ok {
			inner, err := c.PrepareContext(ctx, query)
			if err != nil {
				return nil, err
			}
			s = &statement{Stmt: inner}
			c.cache.Add(query, s)
		}
		if !s.running {
			s.running = true
			return s, nil
		}
	}
	if c.remote {
		c.observe(tripPrepare)
	}
	return nil, nil
}

func (c *conn) release(s *statement) {
	s.running = false
	if s.retired {
		c.retire(s)
	}
}

// retire closes a statement that left the cache, as soon as nobody reads its result.
func (c *conn) retire(s *statement) {
	s.retired = true
	if s.running {
		return
	}
	if c.remote {
		c.observe(tripPrepare)
	}
	if err := s.Close(); err != nil {
		c.broken = true
	}
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	t := c.begin(ctx, query)
	defer func() { err = t.end(err) }()
	s, err := c.acquire(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.innerConn.ExecContext(ctx, query, args)
	}
	defer c.release(s)
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	t := c.begin(ctx, query)
	s, err := c.acquire(ctx, query, args)
	if err != nil {
		return nil, t.end(err)
	}
	r := &rows{trip: t, statement: s}
	if s == nil {
		r.Rows, err = c.innerConn.QueryContext(ctx, query, args)
	} else {
		r.Rows, err = s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	}
	if err != nil {
		if s != nil {
			c.release(s)
		}
		return nil, t.end(err)
	}
	if typed, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok && !c.remote {
		for i := range r.Columns() {
			if typed.ColumnTypeDatabaseTypeName(i) == "DATETIME" {
				r.times = append(r.times, i)
			}
		}
	}
	return r, nil
}

// rows is a result. Once it is closed, its statement can run again.
type rows struct {
	driver.Rows
	trip      *trip      // nil after Close
	statement *statement // nil if the driver ran the query without a prepared statement
	// times are the columns that hold times, which SQLite stores as integers.
	times []int
}

func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	typed, _ := r.Rows.(driver.RowsColumnTypeDatabaseTypeName)
	return typed.ColumnTypeDatabaseTypeName(i)
}

// Next converts times itself, because SQLite's driver takes a small number of milliseconds for seconds, which moves dates
// before September 2001 by millennia.
func (r *rows) Next(dest []driver.Value) error {
	if err := r.Rows.Next(dest); err == io.EOF { //nolint:errorlint // database/sql compares it with == as well.
		return err
	} else if err != nil {
		return r.trip.conn.handleError(err)
	}
	for _, i := range r.times {
		if at, ok := dest[i].(int64); ok {
			dest[i] = time.UnixMilli(at).UTC()
		}
	}
	return nil
}

func (r *rows) Close() error {
	t := r.trip
	if t == nil {
		return nil
	}
	r.trip = nil
	err := t.end(r.Rows.Close())
	if r.statement != nil {
		t.conn.release(r.statement)
	}
	return err
}

// handleNotice notes that the server did not wait for its synchronous standby.
func (c *conn) handleNotice(warning *pq.Error) {
	if warning.Routine == routineNotReplicated {
		c.unreplicated = true
	}
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.observe(tripPrepare)
	return c.innerConn.PrepareContext(ctx, query)
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	t := c.begin(ctx, tripBegin)
	inner, err := c.innerConn.BeginTx(ctx, opts)
	if err = t.end(err); err != nil {
		return nil, err
	}
	c.inTx = true
	return &transaction{ctx, inner, c}, nil
}

type transaction struct {
	ctx   context.Context
	inner driver.Tx
	conn  *conn
}

func (t *transaction) Commit() error { return t.conn.endTx(t.ctx, tripCommit, t.inner.Commit) }

func (t *transaction) Rollback() error { return t.conn.endTx(t.ctx, tripRollback, t.inner.Rollback) }

func (c *conn) endTx(ctx context.Context, name string, end func() error) error {
	t := c.begin(ctx, name)
	err := t.end(end())
	c.inTx = false
	return err
}

// Ping implements driver.Pinger.
func (c *conn) Ping(ctx context.Context) error {
	t := c.begin(ctx, tripPing)
	return t.end(c.innerConn.Ping(ctx))
}

// ResetSession implements driver.SessionResetter.
func (c *conn) ResetSession(ctx context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	return c.innerConn.ResetSession(ctx)
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool {
	return !c.broken && (c.sessions == nil || c.shared == c.sessions.shared.Load()) && c.innerConn.IsValid()
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.innerConn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// Close closes SQLite's statements first; PostgreSQL drops those of a closed connection.
func (c *conn) Close() error {
	if c.cache != nil && !c.remote {
		c.cache.Purge()
	}
	c.leaveSession()
	return c.innerConn.Close()
}
