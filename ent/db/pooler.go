package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrPooler means that a pooler may switch a connection to another server session between two transactions. Prepared
// statements, settings and notifications, which belong to a session, then get lost or reach another client.
var ErrPooler = errors.New("the database is behind a pooler in transaction or statement mode, " +
	"where connections would run each other's statements; connect to PostgreSQL directly, or set pool_mode = session in PgBouncer")

const (
	// poolerRounds is how often Open compares two connections' sessions, because a busy pooler may by chance keep one in
	// several rounds.
	poolerRounds = 6
	// poolerTimeout limits the wait for the second connection. A pooler in session mode with one session left gives none until
	// the first is closed.
	poolerTimeout   = 3 * time.Second
	writableTimeout = 500 * time.Millisecond
)

// sessions records which connection has which server session, because two with one session reveal a pooler. Goroutines share it.
type sessions struct {
	mu    sync.Mutex
	conns map[string]*conn
	// shared is how often that was found. When it rises, all earlier connections are dropped.
	shared atomic.Int64
}

// sessionStatement returns the server's process id and start. It has no parameters, because the driver would prepare it under a
// name that another client may use.
const sessionStatement = "SELECT pg_backend_pid() || ' ' || extract(epoch FROM pg_postmaster_start_time())"

// checkSession fails with ErrPooler if another connection has this session, or the session has changed.
func (c *conn) checkSession(ctx context.Context) error {
	rows, err := c.QueryContext(ctx, sessionStatement, nil)
	if err != nil {
		return err
	}
	values := make([]driver.Value, 1)
	err = rows.Next(values)
	if err = errors.Join(err, rows.Close()); err != nil {
		return err
	}
	session := fmt.Sprintf("%s", values[0]) // values[0] is a string or []byte
	c.sessions.mu.Lock()
	defer c.sessions.mu.Unlock()
	holder := c.sessions.conns[session]
	if holder != nil && holder != c || c.session != "" && c.session != session {
		c.sessions.shared.Add(1)
		return ErrPooler
	}
	c.sessions.conns[session], c.session = c, session
	return nil
}

func (c *conn) leaveSession() {
	if c.sessions == nil {
		return
	}
	c.sessions.mu.Lock()
	defer c.sessions.mu.Unlock()
	if c.sessions.conns[c.session] == c {
		delete(c.sessions.conns, c.session)
	}
}

// refusePooler fails with ErrPooler if two connections of the pool share a session, compared rounds times. Without a second
// connection within timeout, it checks that the first keeps its session.
func refusePooler(ctx context.Context, pool *sql.DB, rounds int, timeout time.Duration) error {
	first, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }()
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conns := []*sql.Conn{first}
	second, err := pool.Conn(waiting)
	switch {
	case err == nil:
		defer func() { _ = second.Close() }()
		conns = append(conns, second)
	case waiting.Err() == nil || ctx.Err() != nil:
		return err
	}
	// If the pooler gave no second connection, check only the first.
	for range rounds {
		for _, c := range conns {
			err := c.Raw(func(inner any) error { return inner.(*conn).checkSession(ctx) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}
