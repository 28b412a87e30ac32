package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/lib/pq"
)

const (
	// keptStatements is how many prepared statements one connection keeps. The service has fewer
	// distinct statements; beyond that the least recently used is evicted.
	keptStatements = 200

	// maxKeptQuery is the length in bytes up to which a query is kept. Longer ones are inserts of
	// many rows, whose text varies with their number.
	maxKeptQuery = 4096
)

// The names of observed round trips that are no statement of the caller.
const (
	tripPrepare  = "prepare"
	tripBegin    = "BEGIN"
	tripCommit   = "COMMIT"
	tripRollback = "ROLLBACK"
	tripPing     = "PING"
)

// errRowsOpen is the error of a second query while the rows of the first are read, on a connection
// that carries one result at a time.
var errRowsOpen = errors.New("the rows of an earlier query on this connection are still open")

// connector opens connections that keep their prepared statements. Neither driver does: lib/pq
// takes two round trips for each query with parameters, and modernc.org/sqlite parses each query
// again.
type connector struct {
	driver.Connector
	kept   int // statements kept by each connection; 0 keeps none
	remote bool
	// settings is the statement that each new connection runs first, "" for none. A pooler refuses
	// settings in the connection request.
	settings string
	// watch passes a connection's warnings on; nil if there are none.
	watch func(conn driver.Conn, notice func(*pq.Error))
	// observe is called once for each round trip.
	observe func(query string)
	// sessions compares those of the connections; nil does not.
	sessions *sessions
}

// Connect opens a connection.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	var socket net.Conn
	ctx = context.WithValue(ctx, socketKey{}, &socket)
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, &connectError{err}
	}
	full, ok := inner.(innerConn)
	if !ok {
		return nil, fmt.Errorf("connections of type %T are not supported", inner)
	}
	cn := &conn{innerConn: full, remote: c.remote, socket: socket, observe: c.observe, sessions: c.sessions}
	if c.settings != "" {
		defer cn.bound(ctx)()
		if _, err := full.ExecContext(ctx, c.settings, nil); err != nil {
			return nil, &connectError{errors.Join(err, full.Close())}
		}
	}
	if c.sessions != nil {
		cn.shared = c.sessions.shared.Load()
		// A busy pooler may give the connection another session at the second look.
		for range 2 {
			if err := cn.ownsSession(ctx); err != nil {
				return nil, &connectError{errors.Join(err, cn.Close())}
			}
		}
	}
	if c.watch != nil {
		c.watch(inner, cn.notice)
	}
	if c.kept > 0 {
		// Fails only for a size below 1.
		cn.kept, _ = simplelru.NewLRU(c.kept, func(_ string, s *statement) { cn.retire(s) })
	}
	return cn, nil
}

// innerConn is the common interface of both drivers' connections.
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

// statement is a prepared statement of one connection.
type statement struct {
	driver.Stmt
	running bool // its result is being read
	retired bool // close it once it no longer runs
}

// conn is a connection that keeps its prepared statements. database/sql guarantees that one
// goroutine uses it at a time.
type conn struct {
	innerConn
	kept    *simplelru.LRU[string, *statement]
	remote  bool     // PostgreSQL: a network away, and one result at a time
	socket  net.Conn // nil if there is none
	observe func(query string)
	open    int // results being read
	inTx    bool
	broken  bool // drop it instead of reusing it
	// sessions is nil where sessions are not compared. session is that of this connection, and shared how
	// often one had been found shared before it.
	sessions *sessions
	session  string
	shared   int64
	// unreplicated is set when the server stops waiting for its synchronous standby.
	unreplicated bool
}

func (c *conn) keeps(query string, args []driver.NamedValue) bool {
	return c.kept != nil && len(args) > 0 && len(query) <= maxKeptQuery
}

// acquire returns the prepared statement of a query. A statement whose result is still being read
// cannot run again; a temporary one replaces it.
func (c *conn) acquire(ctx context.Context, query string) (*statement, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, ok := c.kept.Get(query)
	if ok && !s.running {
		s.running = true
		return s, nil
	}
	c.observe(tripPrepare)
	inner, err := c.innerConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s = &statement{Stmt: inner, running: true, retired: ok}
	if !ok {
		c.kept.Add(query, s)
	}
	return s, nil
}

func (c *conn) release(s *statement) {
	s.running = false
	if s.retired {
		c.close(s)
	}
}

func (c *conn) retire(s *statement) {
	s.retired = true
	if !s.running {
		c.close(s)
	}
}

func (c *conn) close(s *statement) {
	if c.remote {
		c.observe(tripPrepare)
	}
	if err := s.Close(); err != nil {
		c.broken = true
	}
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	if c.remote && c.open > 0 {
		return nil, errRowsOpen
	}
	trip := c.begin(ctx, query)
	defer func() { end(trip, err) }()
	defer c.bound(ctx)()
	if !c.keeps(query, args) {
		c.observeUnkept(query, args)
		result, err = c.innerConn.ExecContext(ctx, query, args)
		return result, c.judge(err)
	}
	s, err := c.acquire(ctx, query)
	if err != nil {
		return nil, c.judge(err)
	}
	defer c.release(s)
	c.observe(query)
	result, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	return result, c.check(ctx, err)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.remote && c.open > 0 {
		return nil, errRowsOpen
	}
	trip := c.begin(ctx, query)
	over := c.bound(ctx)
	result, err := c.query(ctx, query, args)
	if err != nil {
		over()
		end(trip, err)
		return nil, err
	}
	result.trip, result.over = trip, over
	return result, nil
}

func (c *conn) query(ctx context.Context, query string, args []driver.NamedValue) (*rows, error) {
	if !c.keeps(query, args) {
		c.observeUnkept(query, args)
		inner, err := c.innerConn.QueryContext(ctx, query, args)
		if err != nil {
			return nil, c.judge(err)
		}
		return c.rows(ctx, inner, nil), nil
	}
	s, err := c.acquire(ctx, query)
	if err != nil {
		return nil, c.judge(err)
	}
	c.observe(query)
	inner, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		c.release(s)
		return nil, c.check(ctx, err)
	}
	return c.rows(ctx, inner, s), nil
}

// observeUnkept observes a query that the driver runs by itself; with parameters, lib/pq first
// prepares it in a separate round trip.
func (c *conn) observeUnkept(query string, args []driver.NamedValue) {
	if c.remote && len(args) > 0 {
		c.observe(tripPrepare)
	}
	c.observe(query)
}

// check drops the connection if the server no longer accepts its statements. Outside a transaction
// database/sql then runs the query on another connection; inside one the transaction is lost, and
// WithTx runs it again. An error caused by the context is returned as the context's.
func (c *conn) check(ctx context.Context, err error) error {
	c.abandon(ctx)
	err = c.judge(err)
	code, _ := postgresCode(err)
	switch {
	case isStale(err):
		c.broken = true
		if !c.inTx {
			return driver.ErrBadConn
		}
	case code == codeQueryCanceled && ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// judge drops a connection whose server no longer serves it, and returns an error for a commit
// without its standby.
func (c *conn) judge(err error) error {
	if err != nil && isLost(err) {
		c.broken = true
	}
	if c.unreplicated {
		c.unreplicated = false
		return errors.Join(errNotReplicated, err)
	}
	return err
}

// notice reads the server's warnings.
func (c *conn) notice(warning *pq.Error) {
	if warning.Routine == routineNotReplicated {
		c.unreplicated = true
	}
}

// abandon drops the connection if its server may have been asked to cancel the query: the cancel
// request arrives separately, and if late it would cancel the next query instead.
func (c *conn) abandon(ctx context.Context) {
	if c.remote && ctx.Err() != nil {
		c.broken = true
	}
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.observe(tripPrepare)
	return c.innerConn.PrepareContext(ctx, query)
}

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.observe(tripBegin)
	trip := c.begin(ctx, tripBegin)
	defer c.bound(ctx)()
	inner, err := c.innerConn.BeginTx(ctx, opts)
	end(trip, err)
	if err != nil {
		return nil, c.judge(err)
	}
	c.inTx = true
	return &transaction{ctx, inner, c}, nil
}

// Ping implements driver.Pinger.
func (c *conn) Ping(ctx context.Context) error {
	c.observe(tripPing)
	defer c.bound(ctx)()
	return c.judge(c.innerConn.Ping(ctx))
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

// Close implements driver.Conn. On PostgreSQL the server drops the statements of a closed
// connection; on SQLite they must be closed first.
func (c *conn) Close() error {
	if c.kept != nil && !c.remote {
		c.kept.Purge()
	}
	c.leaveSession()
	return c.innerConn.Close()
}
