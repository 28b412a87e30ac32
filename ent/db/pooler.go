package db

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"time"
)

// ErrPooler means that the database is behind a pooler that may switch a connection to another
// server session between two transactions. Prepared statements, settings and notifications belong
// to a session: on such a connection they are lost, or belong to another client.
var ErrPooler = errors.New("the database is behind a pooler in transaction or statement mode, where connections would run each other's statements; " +
	"connect to PostgreSQL directly, or set pool_mode = session in PgBouncer")

const (
	// poolerRounds is how often two connections are compared. An idle pooler is detected in the first
	// round; a busy one may by chance give a connection the same session a few times.
	poolerRounds = 6
	// poolerPatience bounds the comparison. In session mode the second connection may wait for the
	// first to end, if the pooler has one session left.
	poolerPatience = 3 * time.Second
)

// refusePooler fails with ErrPooler if connections of the pool share sessions of the server. It
// keeps two connections open and compares their sessions: a session belongs to one connection while
// that is open, unless a pooler shares it. The statements have no parameters, because the driver
// would prepare them under names that another client may have taken.
func refusePooler(ctx context.Context, db *sql.DB) error {
	waiting, cancel := context.WithTimeout(ctx, poolerPatience)
	defer cancel()
	first, err := newProbe(waiting, db)
	if err != nil {
		return err
	}
	defer first.close()
	if err := first.look(waiting, nil); err != nil {
		return err
	}
	second, err := newProbe(waiting, db)
	if err == nil {
		defer second.close()
		err = second.look(waiting, first)
	}
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		// There is no session left for a second connection. The first continues alone.
		return first.alone(ctx)
	}
	for round := 1; round < poolerRounds && err == nil; round++ {
		if err = first.look(waiting, second); err == nil {
			err = second.look(waiting, first)
		}
	}
	return err
}

// probe is an open connection that marks its session.
type probe struct {
	conn *sql.Conn
	mark string
	pid  int // of the server's process; 0 before the first check
}

func newProbe(ctx context.Context, db *sql.DB) (*probe, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &probe{conn: conn, mark: rand.Text()}, nil
}

// look fails with ErrPooler if the session is not the connection's own: its process changed, its
// mark is gone, or it is the other connection's.
func (p *probe) look(ctx context.Context, other *probe) error {
	// A mark contains only letters and digits.
	query := "SELECT pg_backend_pid(), coalesce(before.mark, ''), set_config('storefront.probe', '" + p.mark + "', false) " +
		"FROM (SELECT current_setting('storefront.probe', true) AS mark OFFSET 0) before"
	var pid int
	var found, left string
	if err := p.conn.QueryRowContext(ctx, query).Scan(&pid, &found, &left); err != nil {
		return err
	}
	known := p.pid != 0
	switch {
	case known && (pid != p.pid || found != p.mark), other != nil && found == other.mark:
		return ErrPooler
	}
	p.pid = pid
	return nil
}

// alone checks without a second connection.
func (p *probe) alone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, poolerPatience)
	defer cancel()
	for range poolerRounds {
		if err := p.look(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// close returns the connection.
func (p *probe) close() { _ = p.conn.Close() }
